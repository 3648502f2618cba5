//! Settings of the host that determine failures and findings.
//!
//! Owns their list, which errors and diagnostics refer to instead of naming options.

/// A host's setting that would have prevented a failure or a finding. The host words how to change
/// it; the command names its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Setting {
    /// The token, [`PlatformBuilder::token`](crate::PlatformBuilder::token)
    Token,
    /// The control plane's address,
    /// [`PlatformBuilder::controlplane_url`](crate::PlatformBuilder::controlplane_url)
    ControlPlane,
    /// The platform backend's address,
    /// [`PlatformBuilder::base_url`](crate::PlatformBuilder::base_url)
    Backend,
    /// Plain HTTP, [`PlatformBuilder::insecure`](crate::PlatformBuilder::insecure)
    PlainHttp,
    /// Certificate authorities besides the machine's,
    /// [`PlatformBuilder::ca_certificate`](crate::PlatformBuilder::ca_certificate)
    CertificateAuthorities,
    /// The hosts that `http.send` may contact, [`AllowedHosts`](crate::http::AllowedHosts)
    AllowedHosts,
    /// The function of this name, which is off by default,
    /// [`FunctionSet::with`](crate::builtins::FunctionSet::with)
    Function(&'static str),
    /// The version of Rego, [`LoadOptions::rego_v0`](crate::load::LoadOptions::rego_v0)
    RegoV0,
    /// The files of a folder that are left out
    Ignored,
    /// The files of a bundle that are left out
    IgnoredInBundles,
    /// The files that are inputs
    Inputs,
    /// Whether policies that look at `input` are evaluated without one,
    /// `gate::RunOptions::without_input`
    WithoutInput,
    /// Whether an input that every policy skips passes,
    /// `gate::Rules::allow_skipped`
    SkippedInputs,
    /// The arguments of policy documents
    Arguments,
    /// The project of the inputs, `gate::DocumentOptions::metadata`
    Project,
    /// Whether arrays are passed as objects,
    /// `gate::DocumentOptions::wrap_arrays`
    WrappedArrays,
    /// Whether inputs are attestations,
    /// `gate::DocumentOptions::attestation`
    Attestations,
    /// Whether statements are taken out of their envelopes,
    /// `gate::DocumentOptions::attestation`
    Envelopes,
    /// Whether all inputs are combined into one,
    /// `gate::DocumentOptions::combine`
    Combine,
    /// Whether signed bundles are loaded unchecked
    SignedBundles,
    /// Whether every policy that can call the service must do so,
    /// `gate::RunOptions::require_calls`
    RequiredCalls,
    /// The folder of the emulator's data set
    DataSet,
}
