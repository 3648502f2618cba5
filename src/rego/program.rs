//! The facade: texts to a program, a program and an input to results.
//!
//! A [`Program`] is compiled once, cheap to clone and evaluated from any number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::engine::{CallSite, EvalError, Host, Limits, Tracer};
use super::problem::{Problem, Problems, Sources};
use super::syntax::tree::{Module, Span, Version};
use super::value::Value;

/// A text to compile.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// Its path, as errors name it.
    pub path: String,
    /// What it says.
    pub text: String,
    /// The version of the language to read it as, where it doesn't import another.
    pub version: Version,
}

/// A function of the host.
#[derive(Debug, Clone)]
pub struct HostFunction {
    /// Its name, such as `platform.evidence`.
    pub name: String,
    /// Its types, in the grammar of [`super::types`]: `string, any -> object[string: any]`.
    pub signature: String,
    /// Its answer depends on more than its arguments.
    pub nondeterministic: bool,
}

/// Looks at modules while they are compiled, and may change them.
pub trait Hooks {
    /// Modules as they were parsed.
    fn parsed(&mut self, texts: &Sources, modules: &mut Vec<Module>) {
        let _ = (texts, modules);
    }

    /// Modules after OPA's stage `RewriteLocalVars`.
    fn resolved(&mut self, resolved: Resolved<'_>) {
        let _ = resolved;
    }
}

/// Modules with full references, and a name of its own for each local variable.
pub struct Resolved<'a> {
    /// The texts.
    pub sources: &'a Sources,
    /// The modules as they were parsed.
    pub authors: &'a [Module],
    /// The same modules, in the same order.
    pub modules: &'a mut [Module],
    /// The authors' names of local variables.
    pub locals: &'a std::collections::HashMap<super::syntax::tree::Name, super::syntax::tree::Name>,
}

/// How to compile.
#[derive(Debug, Clone)]
pub struct Options {
    /// The base documents: what `data` holds beside rules; an object.
    pub data: Value,
    /// The host's functions.
    pub host_functions: Vec<HostFunction>,
    /// Built-in functions that policies may not call.
    pub unsafe_builtins: Vec<String>,
    /// OPA's `--strict`: unused variables and imports, deprecated functions.
    pub strict: bool,
    /// Keep `print` calls; otherwise they are erased as in OPA.
    pub prints: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: Value::new_object(),
            host_functions: Vec::new(),
            unsafe_builtins: Vec::new(),
            strict: false,
            prints: true,
        }
    }
}

/// Compiled policies.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    sources: Sources,
    modules: Vec<Module>,
    packages: Vec<PackageInfo>,
    rules: Vec<RuleInfo>,
    call_sites: Vec<CallSiteInfo>,
}

/// A compiled query.
#[derive(Clone)]
pub struct Query(Arc<QueryInner>);

struct QueryInner {}

/// A package.
#[derive(Debug, Clone)]
pub struct PackageInfo {
    /// Its path: `data.a.b`.
    pub path: String,
    /// Where its files declare it.
    pub spans: Vec<Span>,
}

/// What kind of document a rule makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKind {
    /// One value.
    Complete,
    /// A set.
    PartialSet,
    /// An object, or sets and objects within one another.
    PartialObject,
    /// A function.
    Function,
}

/// A rule: all definitions of one path.
#[derive(Debug, Clone)]
pub struct RuleInfo {
    /// Its path up to its first variable: `data.a.b.allow`.
    pub path: String,
    /// The path of its package.
    pub package: String,
    /// What it makes.
    pub kind: RuleKind,
    /// How many arguments a function takes.
    pub arity: usize,
    /// It has a default.
    pub has_default: bool,
    /// Its definitions, with those after `else`, in order.
    pub definitions: Vec<Span>,
    /// The rules that it asks, directly, as indices into [`Program::rules`].
    pub depends_on: Vec<usize>,
}

/// A place where a host function is called.
#[derive(Debug, Clone)]
pub struct CallSiteInfo {
    /// The function.
    pub name: Arc<str>,
    /// The call.
    pub span: Span,
    /// The rule that it is in, as an index into [`Program::rules`].
    pub rule: Option<usize>,
}

/// One evaluation.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// `input`; undefined if there is none.
    pub input: Option<&'a Value>,
    /// The world.
    pub host: &'a dyn Host,
    /// An error of a built-in function is the result's error; otherwise it is undefined.
    pub strict_builtin_errors: bool,
    /// What it may use.
    pub limits: Limits,
    /// Who watches.
    pub tracer: Option<&'a dyn Tracer>,
}

impl<'a> Run<'a> {
    /// An evaluation for a host with nothing else said.
    pub fn new(host: &'a dyn Host) -> Self {
        Self {
            input: None,
            host,
            strict_builtin_errors: false,
            limits: Limits::default(),
            tracer: None,
        }
    }

    /// With an input.
    #[must_use]
    pub fn input(mut self, input: &'a Value) -> Self {
        self.input = Some(input);
        self
    }
}

/// What an evaluation gives.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its solutions; none where the query is undefined.
    pub result: Result<Vec<Solution>, EvalError>,
    /// The errors of built-in functions in the order in which they happened (the first few of
    /// them), whether strict or not.
    pub builtin_errors: Vec<EvalError>,
    /// How often each call site was reached.
    pub calls: BTreeMap<CallSite, u64>,
    /// How many steps it took.
    pub steps: u64,
    /// About how many bytes of values it made.
    pub memory: u64,
}

impl Outcome {
    /// The value of the first expression of the first solution.
    pub fn value(&self) -> Option<&Value> {
        Some(&self.result.as_ref().ok()?.first()?.expressions.first()?.value)
    }
}

/// One way in which a query holds.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The values of its expressions.
    pub expressions: Vec<ExpressionValue>,
    /// Its variables.
    pub bindings: BTreeMap<String, Value>,
}

/// The value of an expression of a query.
#[derive(Debug, Clone)]
pub struct ExpressionValue {
    /// The value.
    pub value: Value,
    /// What the author wrote.
    pub text: String,
    /// The line and the column in the query, from 1.
    pub position: (u32, u32),
}

impl Program {
    /// Parses, checks and compiles.
    ///
    /// # Errors
    /// All that is wrong with the texts, and the texts that it refers to.
    pub fn compile(sources: Vec<SourceText>, options: &Options) -> Result<Self, LoadError> {
        let mut texts = Sources::new();
        for source in sources {
            texts.add(source.path, source.text);
        }
        let _ = options;
        Err(LoadError { problems: Vec::new(), sources: texts })
    }

    /// Compiles, and lets `hooks` look at the modules on their way.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_with(
        sources: Vec<SourceText>,
        options: &Options,
        hooks: &mut dyn Hooks,
    ) -> Result<Self, LoadError> {
        let _ = hooks;
        Self::compile(sources, options)
    }

    /// Compiles a query such as `x := data.a.b; x > 1`.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn query(&self, text: &str) -> Result<Query, LoadError> {
        let mut sources = Sources::new();
        sources.add("", text);
        Err(LoadError { problems: Vec::new(), sources })
    }

    /// The query for one document, such as `["a", "b", "allow"]` for `data.a.b.allow`, without
    /// parsing or checking anything.
    pub fn rule_query(&self, path: &[&str]) -> Query {
        let _ = path;
        Query(Arc::new(QueryInner {}))
    }

    /// Evaluates.
    pub fn evaluate(&self, query: &Query, run: &Run<'_>) -> Outcome {
        let _ = (query, run);
        Outcome {
            result: Ok(Vec::new()),
            builtin_errors: Vec::new(),
            calls: BTreeMap::new(),
            steps: 0,
            memory: 0,
        }
    }

    /// The texts.
    pub fn sources(&self) -> &Sources {
        &self.0.sources
    }

    /// The modules as parsed.
    pub fn modules(&self) -> &[Module] {
        &self.0.modules
    }

    /// The packages, in the order of their paths.
    pub fn packages(&self) -> &[PackageInfo] {
        &self.0.packages
    }

    /// The rules, in the order of their paths.
    pub fn rules(&self) -> &[RuleInfo] {
        &self.0.rules
    }

    /// The places where host functions are called.
    pub fn call_sites(&self) -> &[CallSiteInfo] {
        &self.0.call_sites
    }

    /// An error with its place, as OPA prints it: `policy.rego:3: eval_conflict_error: …`.
    pub fn display_error(&self, error: &EvalError) -> String {
        match error.span {
            Some(span) => {
                let position = self.0.sources.position(span);
                format!("{}:{}: {error}", position.path, position.line)
            }
            None => error.to_string(),
        }
    }
}

/// Why texts or a query can't be compiled.
#[derive(Debug, Clone)]
pub struct LoadError {
    /// All that is wrong; never empty.
    pub problems: Problems,
    /// The texts that the problems point into.
    pub sources: Sources,
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}", Problem::display(problem, &self.sources))?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}
