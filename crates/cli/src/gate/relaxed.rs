//! The options that relax a gate: less fails, or less is evaluated.
//!
//! Owns which ones were given, and their names on the command line.

use std::fmt::Write as _;

use clap::ValueEnum as _;
use rego_platform_gate::model::{OptionEffect, OptionUse, Relaxation};

use super::GateArgs;
use crate::options::Options;

/// Returns the option of a relaxation.
const fn option(relaxation: Relaxation) -> &'static str {
    match relaxation {
        Relaxation::Packages => "--namespace",
        Relaxation::Skip => "--skip",
        Relaxation::Kind => "--kind",
        Relaxation::Ignore => "--ignore",
        Relaxation::FailOn => "--fail-on",
        Relaxation::Waivers => "--waivers",
        Relaxation::Vex => "--vex",
        Relaxation::NotFound => "--not-found",
        Relaxation::AllowedHosts => "--allow-host",
        Relaxation::NoFail => "--no-fail",
        Relaxation::AllowSkipped => "--allow-skipped",
        Relaxation::AllowWarnings => "--allow-warnings",
        Relaxation::LenientBuiltins => "--no-strict-builtin-errors",
        Relaxation::SkipVerify => "--skip-verify",
        Relaxation::WithoutInput => "--no-input",
        Relaxation::PlainHttp => "--insecure",
        Relaxation::Unpinned => "--update-lock",
    }
}

/// Returns an option as it was given, and its effect.
pub(super) fn shown(used: &OptionUse) -> String {
    let mut out = option(used.name).to_owned();
    if let Some(value) = &used.value {
        let _ = write!(out, " {value}");
    }
    if used.effect == OptionEffect::TookEffect {
        out.push_str(" (took effect)");
    }
    out
}

/// Returns the options that were given.
pub(super) fn given(args: &GateArgs, options: &Options) -> Vec<OptionUse> {
    let mut all = Vec::new();
    let mut add = |name: Relaxation, value: Option<String>| {
        all.push(OptionUse { name, value, effect: OptionEffect::Recorded, times: 0 });
    };
    for name in &args.namespace {
        add(Relaxation::Packages, Some(name.clone()));
    }
    for name in &args.skip {
        add(Relaxation::Skip, Some(name.clone()));
    }
    if let Some(kind) = &args.kind {
        add(Relaxation::Kind, Some(kind.clone()));
    }
    for pattern in &args.load.ignore {
        add(Relaxation::Ignore, Some(pattern.clone()));
    }
    if let Some(severity) = args.fail_on {
        let value = severity.to_possible_value().map(|value| value.get_name().to_owned());
        add(Relaxation::FailOn, value);
    }
    if let Some(path) = &args.waivers {
        add(Relaxation::Waivers, Some(path.display().to_string()));
    }
    for path in &args.vex {
        add(Relaxation::Vex, Some(path.display().to_string()));
    }
    if rego_platform::NotFound::from(options.not_found) == rego_platform::NotFound::Undefined {
        add(Relaxation::NotFound, Some("undefined".to_owned()));
    }
    let hosts = &args.evaluation.network.allow_host;
    if !hosts.is_empty() {
        let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
        add(Relaxation::AllowedHosts, Some(hosts.join(", ")));
    }
    for (name, given) in [
        (Relaxation::NoFail, args.no_fail),
        (Relaxation::AllowSkipped, args.allow_skipped),
        (Relaxation::AllowWarnings, args.allow_warnings),
        (Relaxation::LenientBuiltins, !args.evaluation.is_strict_gate()),
        (Relaxation::SkipVerify, args.skip_verify),
        (Relaxation::WithoutInput, args.no_input),
        (Relaxation::PlainHttp, options.insecure),
        (Relaxation::Unpinned, args.remote.updates()),
    ] {
        if given {
            add(name, None);
        }
    }
    all
}
