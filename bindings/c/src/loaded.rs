//! Loaded policies: queries, and verdicts about documents.

use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{
    self, DataSource, Fetched, Gathered, ModuleSource, ReadOptions, Sources,
};
use rego_platform::evaluate::{
    Answers, Cancellation, EvaluateOptions, Evaluated, Ledger, Policies,
};
use rego_platform::{Diagnostic, Error, Platform, PlatformBuilder, Product, Value};
use rego_platform_gate::model::{AnsweredBy, Run, Tool};
use rego_platform_gate::{Gate, GateOptions, InputSource, RunOptions};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::boundary::{Failure, Text};
use crate::respond::Callback;
use crate::{
    Options, RP_DATA, RP_MODULE, RP_PATH, RP_SERVICE_CONTEXT, RP_SERVICE_ENVIRONMENT,
    RP_SERVICE_NONE, Source,
};

/// Policies, loaded once and evaluated often, from any thread.
pub(crate) struct Loaded {
    policies: Policies,
    /// The same policies as a gate; an error if they aren't one.
    gate: Result<Gate, Error>,
    answers: Answers,
    answered_by: AnsweredBy,
}

/// The result of an evaluation, as C gets it.
#[derive(Serialize)]
pub(crate) struct Evaluation {
    result: Box<RawValue>,
    prints: Vec<String>,
    ledger: Ledger,
}

/// Returns every finding about sources.
pub(crate) fn check(
    sources: &[Source],
    options: Option<&Options>,
) -> Result<Vec<Diagnostic>, Failure> {
    let mut load = LoadOptions::default();
    load.product = product(options)?;
    Ok(rego_platform::check::check(&gathered(sources)?.0.sources()?, load))
}

impl Loaded {
    /// Checks and compiles sources.
    pub fn load(sources: &[Source], options: Option<&Options>) -> Result<Self, Failure> {
        let (gathered, in_memory) = gathered(sources)?;
        let (answers, answered_by, product) = answers(options)?;
        let mut load = LoadOptions::default();
        load.product = product;
        let policies = Policies::load(&gathered.clone().sources()?, load.clone())?;
        let mut options = GateOptions::default();
        (options.load, options.fetched) = (load, in_memory);
        let gate = Gate::load_gathered(gathered, &options);
        Ok(Self { policies, gate, answers, answered_by })
    }

    /// Evaluates a query. Returns its result, prints and ledger.
    pub fn evaluate(
        &self,
        query: &str,
        input: Option<&str>,
        timeout_ms: u32,
        cancellation: Option<&Cancellation>,
    ) -> Result<Evaluation, Failure> {
        let input = input.map(|input| parsed("input", input)).transpose()?;
        let options = self.options(timeout_ms, cancellation);
        let prepared = self.policies.query(query)?;
        let evaluated = self.policies.evaluate(&prepared, input.as_ref(), &options).judged(query);
        let Evaluated { result, prints, ledger, .. } = evaluated;
        let result = result.and_then(|output| {
            // As text, in which numbers have all their digits.
            let text = RawValue::from_string(output.required()?.to_json());
            text.map_err(|error| Error::internal("the result isn't JSON").with_source(error))
        });
        match result {
            Ok(result) => {
                let prints = prints.into_iter().map(|print| print.message).collect();
                Ok(Evaluation { result, prints, ledger })
            }
            Err(error) => Err(Failure::from(error).with_ledger(ledger)),
        }
    }

    /// Evaluates every policy over every document. Returns the verdict and the report.
    pub fn gate(
        &self,
        documents: &str,
        timeout_ms: u32,
        cancellation: Option<&Cancellation>,
    ) -> Result<(c_int, Run), Failure> {
        let documents = parsed("documents", documents)?;
        let Value::Object(documents) = &documents else {
            let message = "`documents` isn't a JSON object";
            let hint = "pass an object of documents by name: `{\"image.json\": {…}}`";
            return Err(Error::invalid_argument(message).with_hint(hint).into());
        };
        let named = documents.iter().map(|(name, document)| {
            let name = name.as_str().unwrap_or_default().to_owned();
            InputSource::Document(name, document.to_json().into_bytes().into())
        });
        let gate = self.gate.as_ref().map_err(Error::clone)?;
        let options = self.options(timeout_ms, cancellation);
        let tool = Tool::new("rego-platform", env!("CARGO_PKG_VERSION"));
        let options = RunOptions::new(options, self.answered_by, tool);
        let (run, _) = gate.run(named.collect(), &options, &mut ())?;
        Ok((c_int::from(run.exit.code()), run))
    }

    fn options(&self, timeout_ms: u32, cancellation: Option<&Cancellation>) -> EvaluateOptions {
        let mut options = EvaluateOptions::new(self.answers.clone());
        if timeout_ms > 0 {
            options.budget.timeout = Duration::from_millis(timeout_ms.into());
        }
        options.reached = true;
        options.cancellation = cancellation.cloned();
        options
    }
}

/// Parses JSON of an argument, with the digits of its numbers.
fn parsed(argument: &str, text: &str) -> Result<Value, Error> {
    Value::from_json(text).map_err(|error| {
        Error::invalid_argument(format!("`{argument}` isn't JSON")).with_source(error)
    })
}

/// Reads the files, and adds the texts. Returns also the data that is in no file, of which reports have the digest.
fn gathered(sources: &[Source]) -> Result<(Gathered, Vec<Fetched>), Failure> {
    let (mut paths, mut texts) = (Vec::new(), Sources::default());
    let (mut documents, mut in_memory) = (Vec::new(), Vec::new());
    for source in sources {
        // SAFETY: whoever passed the sources vouches for their strings.
        let name = unsafe { Text::new("name", source.name) }.required()?;
        // SAFETY: as above.
        let text = unsafe { Text::new("text", source.text) };
        match source.kind {
            RP_PATH => paths.push(name),
            RP_MODULE => texts.modules.push(ModuleSource::new(name, text.required()?)),
            RP_DATA => {
                let text = text.required()?;
                let value = sources::document(name, text, false)
                    .map_err(|found| Error::policy(vec![found]))?;
                if sources::is_policy(&value) {
                    documents.push((name.to_owned(), text.to_owned()));
                }
                let content = (String::new(), text.as_bytes().to_vec().into());
                in_memory.push(Fetched::files(name, "", [content]));
                texts.data.push(DataSource::new(name, value));
            }
            other => {
                let message = format!("unknown kind of source: {other}");
                let hint = "use `RP_PATH`, `RP_MODULE` or `RP_DATA`";
                return Err(Error::invalid_argument(message).with_hint(hint).into());
            }
        }
    }
    let mut gathered = Sources::gather(paths, ReadOptions::default())?;
    gathered.files.modules.append(&mut texts.modules);
    gathered.files.data.append(&mut texts.data);
    gathered.policy_documents.extend(documents);
    Ok((gathered, in_memory))
}

/// Returns the product of the options, or that of the environment.
fn product(options: Option<&Options>) -> Result<Product, Failure> {
    Ok(match product_name(options)? {
        Some(name) => Product::new(name)?,
        None => Product::from_env()?,
    })
}

fn product_name(options: Option<&Options>) -> Result<Option<&str>, Failure> {
    let Some(options) = options else { return Ok(None) };
    // SAFETY: whoever passed the options vouches for their string.
    unsafe { Text::new("product", options.product) }.optional()
}

/// Returns the source of responses, its name for reports, and the product.
fn answers(options: Option<&Options>) -> Result<(Answers, AnsweredBy, Product), Failure> {
    let service = options.map_or(RP_SERVICE_NONE, |options| options.service);
    let callback = options.and_then(|own| Some(Callback::new(own.respond?, own.context)));
    let set = match (service, callback) {
        (RP_SERVICE_NONE, Some(callback)) => {
            let answers = Answers::Responder(Arc::new(callback));
            return Ok((answers, AnsweredBy::Emulator, product(options)?));
        }
        (RP_SERVICE_NONE, None) => {
            let hint = "load the policies with `RP_SERVICE_CONTEXT`, or with a callback";
            let answers = Answers::Unavailable(hint.to_owned());
            return Ok((answers, AnsweredBy::None, product(options)?));
        }
        (RP_SERVICE_CONTEXT, None) => PlatformBuilder::context,
        (RP_SERVICE_ENVIRONMENT, None) => PlatformBuilder::from_env,
        (RP_SERVICE_CONTEXT | RP_SERVICE_ENVIRONMENT, Some(_)) => {
            let message = "conflicting arguments: `service` and `respond`";
            let hint = "set one of `service` and `respond`";
            return Err(Error::invalid_argument(message).with_hint(hint).into());
        }
        (other, _) => {
            let message = format!("unknown service: {other}");
            let hint = "use `RP_SERVICE_NONE`, `RP_SERVICE_CONTEXT` or `RP_SERVICE_ENVIRONMENT`";
            return Err(Error::invalid_argument(message).with_hint(hint).into());
        }
    };
    let mut builder = Platform::builder();
    if let Some(name) = product_name(options)? {
        builder = builder.product(name);
    }
    let platform = set(builder)?.build()?;
    let product = platform.product().clone();
    Ok((Answers::Service(platform), AnsweredBy::Service, product))
}
