//! `--containerd`: the arguments and the output of an image verifier of containerd.
//!
//! Owns what containerd passes and reads: an image's name and digest, a descriptor on standard input, and a reason
//! of one line.

use std::ffi::OsString;
use std::io::{self, Read as _, Write};

use clap::Args;
use rego_platform::rego::Value;
use rego_platform::{Error, text::escape};
use rego_platform_gate::model::{Outcome, Run};
use rego_platform_gate::reports::Report;

use super::INPUTS;
use crate::stdin::Stdin;

/// The media type of a descriptor.
const DESCRIPTOR: &str = "application/vnd.oci.descriptor.v1+json";

/// The largest payload on standard input, in bytes.
const MAX_PAYLOAD: u64 = 1 << 20;

/// The longest reason, in characters; containerd cuts off what is longer.
const MAX_REASON: usize = 4096;

#[derive(Debug, Args)]
pub(super) struct ContainerdArgs {
    /// Verify an image for containerd, which adds the arguments; the last option
    ///
    /// Takes `-name`, `-digest` and `-stdin-media-type` as containerd passes them to the programs in `bin_dir`. The
    /// input is `{"image": DIGEST, "reference": NAME}`, and the reason is printed on one line.
    #[arg(
        long,
        value_name = "ARGUMENT",
        num_args = 0..,
        allow_hyphen_values = true,
        conflicts_with_all = ["format", "input", "inputs", "material", "no_input"],
        hide_short_help = true,
        help_heading = INPUTS
    )]
    containerd: Option<Vec<OsString>>,
}

/// An image that containerd is about to pull.
#[derive(Debug)]
pub(super) struct PulledImage {
    /// The name of the image with its digest.
    pub reference: String,
    digest: String,
}

impl ContainerdArgs {
    /// Returns `true` if the option is given.
    pub const fn is_given(&self) -> bool {
        self.containerd.is_some()
    }

    /// Returns the image that containerd names, and reads its descriptor.
    pub fn image(&self, stdin: &mut Stdin) -> Result<Option<PulledImage>, Error> {
        let Some(arguments) = &self.containerd else { return Ok(None) };
        let (mut name, mut digest, mut media_type) = (None, None, None);
        let mut rest = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = rest.next() {
            let value = match &*argument {
                "-name" => &mut name,
                "-digest" => &mut digest,
                "-stdin-media-type" => &mut media_type,
                other => {
                    let other = escape(other);
                    let message = format!("unexpected argument of containerd: `{other}`");
                    return Err(Error::configuration(message)
                        .with_hint("put options of `gate` before `--containerd`"));
                }
            };
            *value = Some(rest.next().unwrap_or_default().into_owned());
        }
        let required = |value: Option<String>, option: &str| {
            value.filter(|value| !value.is_empty()).ok_or_else(|| {
                let message = format!("missing argument of containerd: `{option}`");
                Error::configuration(message)
            })
        };
        let (name, digest) = (required(name, "-name")?, required(digest, "-digest")?);
        if let Some(media_type) = media_type.filter(|media_type| !media_type.is_empty()) {
            check_payload(&payload(stdin)?, &media_type, &digest)?;
        }
        let reference = match name.split_once('@') {
            Some((_, own)) if own == digest => name,
            Some((_, own)) => return Err(mismatch(&digest, own)),
            None => format!("{name}@{digest}"),
        };
        Ok(Some(PulledImage { reference, digest }))
    }
}

impl PulledImage {
    /// Returns the input of policies, as `--image` names its members.
    pub fn input(&self) -> String {
        let members = [("image", &self.digest), ("reference", &self.reference)];
        let members = members.map(|(name, text)| (Value::from(name), Value::from(text.as_str())));
        members.into_iter().collect::<Value>().to_json()
    }
}

fn payload(stdin: &mut Stdin) -> Result<Vec<u8>, Error> {
    stdin.take("the payload of containerd")?;
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_PAYLOAD + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::configuration("standard input can't be read").with_source(error))?;
    if bytes.len() as u64 > MAX_PAYLOAD {
        let message = format!("payload of containerd: more than {MAX_PAYLOAD} bytes");
        return Err(Error::invalid_argument(message));
    }
    Ok(bytes)
}

/// Checks that a descriptor is that of the image. What another media type means isn't known here.
fn check_payload(bytes: &[u8], media_type: &str, digest: &str) -> Result<(), Error> {
    if media_type != DESCRIPTOR {
        return Ok(());
    }
    let invalid =
        || Error::invalid_argument("payload of containerd: expected a descriptor with a digest");
    let text = std::str::from_utf8(bytes).map_err(|_| invalid())?;
    let descriptor = Value::from_json(text).map_err(|_| invalid())?;
    let own = descriptor.get_str("digest").and_then(Value::as_str).ok_or_else(invalid)?;
    if own == digest { Ok(()) } else { Err(mismatch(digest, own)) }
}

fn mismatch(expected: &str, found: &str) -> Error {
    let (expected, found) = (escape(expected), escape(found));
    Error::invalid_argument(format!("digest mismatch: expected `{expected}`, found `{found}`"))
}

/// The reason of a judgement, on one line.
pub(super) struct Reason;

impl Report for Reason {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let outcome = match run.outcome {
            Outcome::Passed => return writeln!(out, "passed"),
            Outcome::Failed => "failed",
            Outcome::NoVerdict => "no verdict",
        };
        let reasons: Vec<_> = run.explanations().into_iter().map(escape).collect();
        let line = format!("{outcome}: {}", reasons.join("; "));
        let is_long = line.chars().count() > MAX_REASON;
        let line =
            if is_long { line.chars().take(MAX_REASON - 1).chain(['…']).collect() } else { line };
        writeln!(out, "{line}")
    }
}
