//! The gate's settings that failures and findings refer to.

rego_platform_client::settings! {
    /// The data of policies
    DATA = "data",
    /// The files of a folder that are left out
    IGNORED = "ignored",
    /// The files that are inputs
    INPUTS = "inputs",
    /// The file of an input
    INPUT_FILE = "input-file",
    /// The parser of the inputs, [`DocumentOptions::parser`](rego_platform::DocumentOptions::parser)
    PARSER = "parser",
    /// The version of YAML of the inputs, [`DocumentOptions::yaml`](rego_platform::DocumentOptions::yaml)
    YAML = "yaml",
    /// Evaluating policies that use `input` without one,
    /// [`RunOptions::without_input`](rego_platform::RunOptions::without_input)
    WITHOUT_INPUT = "without-input",
    /// Passing inputs that every policy skips, [`Rules::allow_skipped`](crate::model::Rules::allow_skipped)
    SKIPPED_INPUTS = "skipped-inputs",
    /// The arguments of policy documents
    ARGUMENTS = "arguments",
    /// The file of a contract, [`GateOptions::contract`](rego_platform::GateOptions::contract)
    CONTRACT = "contract",
    /// The annotations in the inputs' metadata, [`Metadata::annotations`](crate::Metadata::annotations)
    ANNOTATIONS = "annotations",
    /// The names of inputs as materials, [`Metadata::materials`](crate::Metadata::materials)
    MATERIALS = "materials",
    /// The kinds of inputs, [`GateOptions::kind`](crate::GateOptions::kind)
    KINDS = "kinds",
    /// Values of the input, [`GateOptions::values`](rego_platform::GateOptions::values)
    INPUT_VALUES = "input-values",
    /// Trusting a settings file that nobody named
    UNTRUSTED = "untrusted",
    /// Wrapping arrays in objects, [`DocumentOptions::wrap_arrays`](rego_platform::DocumentOptions::wrap_arrays)
    WRAPPED_ARRAYS = "wrapped-arrays",
    /// Treating inputs as attestations, [`DocumentOptions::attestation`](rego_platform::DocumentOptions::attestation)
    ATTESTATIONS = "attestations",
    /// Checking the signatures of attestations, [`DocumentOptions::attestation`](rego_platform::DocumentOptions::attestation)
    SIGNATURES = "signatures",
    /// Signers of attestations, [`DocumentOptions::attestation`](rego_platform::DocumentOptions::attestation)
    SIGNERS = "signers",
    /// The trust root of identities
    TRUST_ROOT = "trust-root",
    /// The password of an encrypted private key
    PASSWORD = "password",
    /// Evaluating policies with warnings, [`GateOptions::allow_warnings`](rego_platform::GateOptions::allow_warnings)
    WARNINGS = "warnings",
    /// Evaluating a shard of the files, [`RunOptions::shard`](crate::RunOptions::shard)
    PARTS = "parts",
    /// Giving no verdict if there are notes, [`Rules::fail_on_notes`](crate::model::Rules::fail_on_notes)
    NOTES = "notes",
}
