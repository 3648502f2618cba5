//! An evaluated package, and its query for each input.

use std::collections::BTreeMap;
use std::path::Path;

use rego_platform::Error;
use rego_platform::evaluate::{Policies, Query};
use rego_platform::rego::Value;
use rego_platform::rego::internal::compile::QueryContext;
use rego_platform::rego::syntax::tree::With;

use super::GateOptions;
use crate::input::{Material, MetadataReader, Origin, PolicyContext};
use crate::policy::input_data::{self, COMBINED};
use crate::policy::packages::VerdictPackage;
use crate::policy::parameters::Parameters;
use crate::policy::reach::{InputReference, Reach, Reads, Site};
use crate::policy::vulnerability;

/// An evaluated package, with its policies.
#[derive(Debug)]
pub(crate) struct Check {
    pub policies: Policies,
    pub package: VerdictPackage,
    pub context: PolicyContext,
    /// The kind of inputs that the package applies to.
    pub kind: Option<String>,
    /// The material that a group attaches the package to.
    pub material: Option<Material>,
    /// The reachable calls.
    pub sites: Vec<Site>,
    /// The references to the input.
    pub reads: Reads,
    /// The replacements of `data.parameters`, which the package's query has.
    parameters: Vec<With>,
}

impl Check {
    pub(super) fn new(
        policies: Policies,
        package: VerdictPackage,
        arguments: &BTreeMap<String, Value>,
        options: &GateOptions,
        reach: &Reach,
    ) -> Self {
        let rules = || package.rules.iter().map(|rule| rule.name.as_str());
        let product = options.load.product.clone();
        let mut sites = reach.sites(&package.path, rules());
        sites.retain(|site| !vulnerability::is_call(&site.function, &product));
        let (arguments, has_arguments) = (arguments.clone(), !arguments.is_empty());
        let reads = reach.reads(&package.path, rules());
        let context = PolicyContext {
            arguments,
            has_arguments,
            values: options.values.clone(),
            reads_input: reads.has(InputReference::Input),
            metadata: MetadataReader {
                product,
                document: false,
                declared: None,
                names: reads.has(InputReference::Metadata),
                kind: options.kind.clone(),
            },
        };
        let parameters = Vec::new();
        Self { policies, package, context, kind: None, material: None, sites, reads, parameters }
    }

    /// Sets the parameters. An argument that is one isn't in `input.args`, unless the package reads it there.
    pub fn set_parameters(
        &mut self,
        parameters: &Parameters,
        arguments: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let is_rule = parameters.is_rule(&self.package);
        // A rule reads the whole `input` for its documents, not for arguments.
        self.reads.arguments.any &= !is_rule;
        let reads = &self.reads.arguments;
        let is_input = |name: &String| reads.has(name) || !is_rule && !parameters.has(name);
        self.context.has_arguments = arguments.keys().any(is_input);
        self.context.arguments.retain(|name, _| is_input(name));
        self.parameters.clone_from(&parameters.values);
        if !self.parameters.is_empty() {
            let mut context = QueryContext::default();
            context.with.clone_from(&self.parameters);
            self.package.query = self.policies.query_in(self.package.query.text(), &context)?;
        }
        Ok(())
    }

    /// Returns the query for an input from this file, or for all of them combined.
    pub fn query(&self, origin: Origin<'_>, combined: bool) -> Result<Query, Error> {
        let own = &self.package.query;
        let mut context = QueryContext::default();
        // A variable member of `data` may be any: it gets what there is, and needs nothing.
        let any = self.reads.has(InputReference::AnyData);
        let file = if combined { Some(COMBINED) } else { origin.file };
        if self.reads.has(InputReference::File) || any && file.is_some() {
            let file = file.ok_or_else(input_data::no_file)?;
            context.with.extend(input_data::of_file(Path::new(file))?);
        }
        if self.reads.has(InputReference::Signers) || any && origin.signers.is_some() {
            let signers = origin.signers.ok_or_else(input_data::no_signers)?;
            context.with.extend(input_data::of_signers(signers)?);
        }
        if context.with.is_empty() {
            Ok(own.clone())
        } else {
            context.with.extend(self.parameters.iter().cloned());
            self.policies.query_in(own.text(), &context)
        }
    }
}
