//! What a run was given, and what became of it: the part of a report that says what was looked at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AnsweredBy, Source};
use crate::Position;
use crate::evaluate::is_network;

/// How many left out files of one argument are listed; all are counted.
pub const MAX_LEFT_OUT: usize = 1_000;

/// Everything that a run was given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Inventory {
    /// The files of policies and data, by argument (`-d`).
    pub policies: Vec<Argument>,
    /// The files of inputs, by argument (`-i`).
    pub inputs: Vec<Argument>,
    /// Every package that was loaded.
    pub packages: Vec<PackageUse>,
    /// The options that let less fail, or less be looked at.
    pub options: Vec<OptionUse>,
    /// The file of waivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waivers: Option<Source>,
    /// The recording that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Source>,
    /// Who was to answer, and who did.
    pub service: Service,
    /// As whom it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenUse>,
    /// What `--arg` gave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// What `input.chainloop_metadata` was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The places in policies that call the service, or built-ins that ask the network.
    pub call_sites: Vec<CallSite>,
    /// True where inputs are attestations: their signatures aren't checked here.
    pub unverified: bool,
}

/// What became of the files that one argument names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Argument {
    /// The argument as it was given.
    pub argument: String,
    /// How many files were found.
    pub found: u64,
    /// How many of them were read.
    pub taken: u64,
    /// What was left out, and why; a bounded number of them.
    pub left_out: Vec<LeftOut>,
    /// How many more were.
    pub left_out_unlisted: u64,
}

/// Something that was found and not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A package that was loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PackageUse {
    /// Its name, or the policy document's.
    pub name: String,
    /// The rules that make its verdict.
    pub rules: Vec<String>,
    /// Whether it was asked for verdicts.
    pub asked: bool,
    /// Why it wasn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Calls to the service that its verdicts depend on, over all inputs; where there is no verdict,
    /// those that were made.
    pub calls: u64,
    /// One of its evaluations ended early, so what it would have called isn't known.
    #[serde(skip)]
    pub cut_short: bool,
}

/// An option that lets less fail, or less be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OptionUse {
    /// Its name: `--fail-on`.
    pub name: String,
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it made a difference.
    pub effect: OptionEffect,
    /// How often.
    pub times: u64,
}

/// Whether an option made a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OptionEffect {
    /// It was given; what it does isn't counted, or it did nothing.
    Recorded,
    /// Without it, the run would have come to something else, or might have.
    TookEffect,
}

/// Who was to answer the policies' calls, and who did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Service {
    /// The control plane's origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controlplane: Option<String>,
    /// The platform backend's origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The source of answers; absent where no calls were allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnsweredBy>,
}

/// As whom the service was asked, by the token's own claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenUse {
    /// `user` or `api`.
    pub kind: String,
    /// The organization that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
}

/// A place in a policy that calls the service, or a built-in that asks the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallSite {
    /// The package whose verdict it is part of.
    pub package: String,
    /// The function's full name.
    pub function: String,
    /// Where it is.
    pub position: Position,
    /// How often it was reached, over all inputs, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

impl Inventory {
    /// The options that made a difference.
    pub fn took_effect(&self) -> impl Iterator<Item = &OptionUse> {
        self.options.iter().filter(|option| option.effect == OptionEffect::TookEffect)
    }

    /// Packages that could have called the service, and never did: each with its places.
    pub fn never_called(&self) -> impl Iterator<Item = (&PackageUse, Vec<&CallSite>)> {
        self.packages
            .iter()
            .filter(|package| package.asked && package.calls == 0 && !package.cut_short)
            .filter_map(|package| {
                let own = self.call_sites.iter().filter(|site| site.package == package.name);
                let own: Vec<_> = own.filter(|site| !is_network(&site.function)).collect();
                (!own.is_empty()).then_some((package, own))
            })
    }
}

impl From<crate::sources::Account> for Argument {
    fn from(account: crate::sources::Account) -> Self {
        let left = account.left_out.len();
        let listed = account.left_out.into_iter().take(MAX_LEFT_OUT);
        let left_out: Vec<_> =
            listed.map(|left| LeftOut { path: left.path, reason: left.reason }).collect();
        Self {
            argument: account.argument,
            found: account.taken + left as u64,
            taken: account.taken,
            left_out_unlisted: (left - left_out.len()) as u64,
            left_out,
        }
    }
}
