//! The inventory of a run: its arguments, files and options, used or not.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::Position;
use serde::{Deserialize, Serialize};

use super::{AnsweredBy, SigningIdentity, SigningKey, Source};

/// The maximum number of omitted files listed for one argument. All are counted.
pub const MAX_LEFT_OUT: usize = 1_000;

/// The inventory of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Inventory {
    /// The files of policies and data, by argument.
    pub policies: Vec<Argument>,
    /// The files of inputs, by argument.
    pub inputs: Vec<Argument>,
    /// Every package that was loaded.
    pub packages: Vec<PackageUse>,
    /// The options that relax the gate, so that less fails or less is evaluated.
    pub options: Vec<OptionUse>,
    /// The file from which options of the command were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Source>,
    /// The file with the waivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waivers: Option<Source>,
    /// The VEX documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vex: Vec<Source>,
    /// The recording that answered calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Source>,
    /// The engine that evaluated the policies: `regorus`, or `both`, which had to agree. Absent for this
    /// crate's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The configured service, and the source of the responses.
    pub service: Service,
    /// The identity under which requests were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenUse>,
    /// The arguments of policy documents that were given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// The values added to the input, as JSON, by their paths in the input.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The project, and annotations as `annotations.KEY`, in the inputs' metadata, such as
    /// `input.platform_metadata`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Settings of reading inputs and limits of an evaluation that differ from the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
    /// The places in policies that call the service, or built-ins that access the network.
    pub call_sites: Vec<CallSite>,
    /// The nondeterministic functions that verdicts depend on: of the service, the network, time and random
    /// numbers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub asked: BTreeSet<String>,
    /// `true` if inputs are attestations whose signatures weren't checked.
    pub unverified: bool,
    /// The required signers, if inputs are attestations whose signatures were checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<SignedBy>,
}

/// The required signers of attestations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SignedBy {
    /// The keys.
    pub keys: Vec<SigningKey>,
    /// The identities; one signature is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<SigningIdentity>,
    /// The trust root of the identities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_root: Option<Source>,
    /// The number of required signatures.
    pub threshold: u64,
}

/// An account of the files that one argument names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Argument {
    /// The argument as it was given.
    pub argument: String,
    /// The pinned digest of a remote source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The signers, if they were checked: the files of keys, or identities.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub signers: BTreeSet<String>,
    /// The number of files that were found.
    pub found: u64,
    /// The number of files that were read.
    pub taken: u64,
    /// The files that were left out, with the reason; a bounded number of them.
    pub left_out: Vec<LeftOut>,
    /// The number of left out files that aren't listed.
    pub left_out_unlisted: u64,
}

/// A file, folder or part of a file that was found and not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LeftOut {
    /// The path, as messages show it.
    pub path: String,
    /// The reason for omitting it.
    pub reason: String,
}

/// A package that was loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PackageUse {
    /// The name, or the policy document's.
    pub name: String,
    /// The verdict rules.
    pub rules: Vec<String>,
    /// `true` if it was evaluated.
    pub asked: bool,
    /// The reason why it wasn't evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of calls to the service that its verdicts depend on, over all inputs; for inputs
    /// without a verdict, all calls that were made.
    pub calls: u64,
}

/// An option that relaxes the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OptionUse {
    /// The relaxation.
    pub name: Relaxation,
    /// The value that was given; absent for an option without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The effect on the run.
    pub effect: OptionEffect,
    /// The number of times it had an effect.
    pub times: u64,
}

/// A way in which a gate can be relaxed. Exhaustive, so that a host that words them doesn't compile
/// until it words a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Relaxation {
    /// Only the chosen packages are evaluated.
    Packages,
    /// Policies of these names aren't evaluated.
    Skip,
    /// Policies for other kinds of material aren't evaluated.
    Kind,
    /// Files that match a pattern aren't read.
    Ignore,
    /// Violations below a severity don't fail.
    FailOn,
    /// Violations that a waiver covers don't fail.
    Waivers,
    /// Findings that a VEX statement suppresses don't fail.
    Vex,
    /// Missing resources of the service are undefined instead of errors.
    NotFound,
    /// Policies may send requests to these hosts.
    AllowedHosts,
    /// The exit status is 0 although there are violations.
    NoFail,
    /// An input that every policy skips passes.
    AllowSkipped,
    /// Policies with warnings are evaluated.
    AllowWarnings,
    /// An error of a built-in function is undefined.
    LenientBuiltins,
    /// Signed bundles are loaded unchecked.
    SkipVerify,
    /// Remote policies aren't compared with the lock file: their current digests are used.
    Unpinned,
    /// Policies that use `input` are evaluated without one.
    WithoutInput,
    /// Plain HTTP is used beyond loopback.
    PlainHttp,
}

impl std::fmt::Display for Relaxation {
    /// Writes the name that reports have.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// The effect of an option on the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OptionEffect {
    /// The option was given. Its effect is none or isn't counted.
    Recorded,
    /// Without it, the result of the run would or might have been different.
    TookEffect,
}

/// The configured service, and the source of the responses to the policies' calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Service {
    /// The origin of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controlplane: Option<String>,
    /// The origin of the platform backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The source of responses; absent if no calls were allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnsweredBy>,
}

/// The identity under which requests were sent, according to the token's own claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenUse {
    /// `user` or `api`.
    pub kind: String,
    /// The organization that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
}

impl TokenUse {
    /// Creates the description of a token's use.
    pub fn new(kind: impl Into<String>, organization: Option<&str>) -> Self {
        Self { kind: kind.into(), organization: organization.map(str::to_owned) }
    }
}

/// A place in a policy that calls the service, or a built-in that accesses the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallSite {
    /// The package of the verdict.
    pub package: String,
    /// The function's full name.
    pub function: String,
    /// The position of the call.
    pub position: Position,
    /// The number of times it was reached, over all inputs, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

impl Inventory {
    /// Returns the number of files that were found and not read.
    pub fn left_out(&self) -> u64 {
        let arguments = self.policies.iter().chain(&self.inputs);
        arguments.map(|argument| argument.found.saturating_sub(argument.taken)).sum()
    }

    /// Records the number of effects of a relaxation.
    pub fn note_effect(&mut self, name: Relaxation, times: u64) {
        let effect = if times > 0 { OptionEffect::TookEffect } else { OptionEffect::Recorded };
        for option in self.options.iter_mut().filter(|option| option.name == name) {
            (option.effect, option.times) = (effect, times);
        }
    }

    /// Adds the number of times that a call site was reached.
    pub(crate) fn reached(&mut self, site: CallSite) {
        let times = site.reached.unwrap_or(0);
        let is_same = |known: &&mut CallSite| {
            (&known.package, &known.function, &known.position)
                == (&site.package, &site.function, &site.position)
        };
        match self.call_sites.iter_mut().find(is_same) {
            Some(known) => {
                let sum = known.reached.get_or_insert(0);
                *sum = sum.saturating_add(times);
            }
            // A site of another package's.
            None if times == 0 => {}
            None => self.call_sites.push(site),
        }
    }

    /// Returns the options that had an effect.
    pub fn took_effect(&self) -> impl Iterator<Item = &OptionUse> {
        self.options.iter().filter(|option| option.effect == OptionEffect::TookEffect)
    }

    /// Returns `true` if options that choose files and packages were given, and some are left out.
    pub fn is_narrowed(&self) -> bool {
        let is_given = |name| self.options.iter().any(|option| option.name == name);
        let mut arguments = self.policies.iter().chain(&self.inputs);
        is_given(Relaxation::Ignore) && arguments.any(|argument| argument.found > argument.taken)
            || (is_given(Relaxation::Packages) || is_given(Relaxation::Skip))
                && self.packages.iter().any(|package| !package.asked)
    }
}

impl Argument {
    /// Creates an account of the files that were read and omitted.
    pub(crate) fn new(
        argument: String,
        digest: Option<String>,
        taken: u64,
        mut left_out: Vec<LeftOut>,
    ) -> Self {
        let left = left_out.len();
        left_out.truncate(MAX_LEFT_OUT);
        Self {
            argument,
            digest,
            signers: BTreeSet::new(),
            found: taken + left as u64,
            taken,
            left_out_unlisted: (left - left_out.len()) as u64,
            left_out,
        }
    }
}

impl From<rego_platform::sources::Account> for Argument {
    fn from(account: rego_platform::sources::Account) -> Self {
        let left_out = account.left_out.into_iter();
        let left_out = left_out.map(|left| LeftOut { path: left.path, reason: left.reason });
        let (argument, signers) = (account.argument, account.signers);
        let own = Self::new(argument, account.digest, account.taken, left_out.collect());
        Self { signers, ..own }
    }
}
