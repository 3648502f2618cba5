//! The options that relax a gate: less fails, or less is evaluated.
//!
//! Owns which ones were given, and their names on the command line.

use std::path::PathBuf;

use rego_platform::NotFound;
use rego_platform_gate::model::{OptionEffect, OptionUse, Relaxation, Severity};

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
    out.extend(used.value.iter().flat_map(|value| [" ", value.as_str()]));
    out.extend((used.effect == OptionEffect::TookEffect).then_some(" (took effect)"));
    out
}

/// Returns the options that were given.
pub(super) fn given(args: &GateArgs, options: &Options) -> Vec<OptionUse> {
    let path = |path: &PathBuf| path.display().to_string();
    let names = Severity::NAMES.iter().filter(|(_, own)| args.fail_on == Some(*own));
    let is_undefined = options.not_found == NotFound::Undefined;
    let hosts = args.evaluation.network.allow_host.iter().map(ToString::to_string);
    let hosts = hosts.collect::<Vec<_>>().join(", ");
    let valued: [(Relaxation, Vec<String>); 9] = [
        (Relaxation::Packages, args.namespace.clone()),
        (Relaxation::Skip, args.skip.clone()),
        (Relaxation::Kind, args.kind.iter().cloned().collect()),
        (Relaxation::Ignore, args.load.ignore.clone()),
        (Relaxation::FailOn, names.map(|(name, _)| (*name).to_owned()).collect()),
        (Relaxation::Waivers, args.waivers.iter().map(path).collect()),
        (Relaxation::Vex, args.vex.iter().map(path).collect()),
        (Relaxation::NotFound, is_undefined.then(|| "undefined".to_owned()).into_iter().collect()),
        (Relaxation::AllowedHosts, Some(hosts).filter(|all| !all.is_empty()).into_iter().collect()),
    ];
    let valued = valued.into_iter();
    let valued = valued.flat_map(|(name, all)| all.into_iter().map(move |one| (name, Some(one))));
    let flags = [
        (Relaxation::NoFail, args.no_fail),
        (Relaxation::AllowSkipped, args.allow_skipped),
        (Relaxation::AllowWarnings, args.allow_warnings),
        (Relaxation::LenientBuiltins, !args.evaluation.is_strict_gate()),
        (Relaxation::SkipVerify, args.skip_verify),
        (Relaxation::WithoutInput, args.no_input),
        (Relaxation::PlainHttp, options.insecure),
        (Relaxation::Unpinned, args.remote.updates()),
    ];
    let flags = flags.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| (name, None));
    let recorded =
        |(name, value)| OptionUse { name, value, effect: OptionEffect::Recorded, times: 0 };
    valued.chain(flags).map(recorded).collect()
}
