//! Random programs from the grammar of Rego: every production, well-scoped most of the time.
//!
//! A program has one to four files in one to three packages; rules refer to earlier rules (seldom
//! to later ones, which is recursion). Names come from a small pool, so that they collide. Terms
//! are generated for a type, and most references to `input` and `data` find something of that type.

mod annotations;
mod cases;
mod queries;
mod replaced;
mod rules;
mod statements;
mod terms;

use super::case::Case;
use super::random::Random;

/// The intended type of a term.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Number,
    String,
    Boolean,
    Null,
    Array(Box<Type>),
    Set(Box<Type>),
    /// With string keys.
    Object(Box<Type>),
    Any,
}

/// The version of the language that a program is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    V0,
    V1,
    V2,
}

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    kind: Type,
}

/// The names that a body can refer to.
#[derive(Debug, Clone, Default)]
struct Scope {
    variables: Vec<Variable>,
    /// Names declared in this very body, which must not be declared again in it.
    own: Vec<String>,
    /// Names declared by `some` in this very body, which must be used in it.
    due: Vec<String>,
}

#[derive(Debug, Clone)]
enum Kind {
    Complete(Type),
    Set(Type),
    Object(Type),
    Function(Vec<Type>, Type),
    /// A general reference in the head: nested objects or sets.
    Tree(Type),
}

#[derive(Debug, Clone)]
struct Known {
    package: &'static str,
    /// Its name, or its path within the package.
    name: String,
    kind: Kind,
}

/// A file that is being generated.
struct File {
    package: &'static str,
    imports: Vec<String>,
    /// Names for packages: the package, and its name in the file.
    aliases: Vec<(&'static str, String)>,
    input: Option<&'static str>,
    rules: Vec<String>,
}

impl File {
    fn of(package: &'static str) -> Self {
        Self { package, imports: Vec::new(), aliases: Vec::new(), input: None, rules: Vec::new() }
    }
}

struct Generator {
    random: Random,
    hits: Vec<&'static str>,
    dialect: Dialect,
    known: Vec<Known>,
    file: File,
    /// A budget of nodes; without it terms are leaves.
    fuel: i32,
    next: usize,
    /// `true` if most packages of the program have annotations.
    annotated: bool,
    /// Functions that pass their argument on, and to what.
    passes: Vec<(String, String)>,
    /// Names that the rule being generated uses anywhere.
    used: Vec<String>,
    /// The program's own preferences among productions.
    taste: Option<u64>,
}

const PACKAGES: &[&str] = &["lib", "p", "p.q", "a.b.c", "system"];

/// Generates the program of a seed. If `biased`, it has preferences: of each choice it never makes
/// some, and makes others often, so that a few constructs meet each other in many ways.
pub fn program(seed: u64, dialect: Dialect, biased: bool) -> Case {
    let mut random = Random::new(seed);
    let strict_errors = random.chance(60);
    let strict = random.chance(3);
    let data = terms::DATA[random.below(terms::DATA.len())];
    let mut inputs = vec![terms::INPUTS[0].to_owned()];
    for _ in 0..2 {
        let other = terms::INPUTS[random.below(terms::INPUTS.len())].to_owned();
        if !inputs.contains(&other) {
            inputs.push(other);
        }
    }
    let mut generator = Generator {
        random,
        hits: Vec::new(),
        dialect,
        known: Vec::new(),
        file: File::of("p"),
        fuel: 0,
        next: 0,
        annotated: false,
        passes: Vec::new(),
        used: Vec::new(),
        taste: biased.then_some(seed),
    };
    generator.annotated = generator.chance(20);
    let files = generator.files();
    let queries = generator.queries();
    generator.hits.sort_unstable();
    generator.hits.dedup();
    Case {
        files,
        version: match dialect {
            Dialect::V0 => "v0",
            Dialect::V1 | Dialect::V2 => "v1",
        },
        queries,
        inputs,
        term_inputs: false,
        data: data.to_owned(),
        strict_errors,
        strict,
        without: None,
        origin: format!("seed {seed}, {dialect:?}"),
        productions: generator.hits,
    }
}

impl Generator {
    fn hit(&mut self, production: &'static str) {
        self.hits.push(production);
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.random.chance(percent)
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    /// Returns an index, by weights.
    fn weighted(&mut self, weights: &[usize]) -> usize {
        if let Some(taste) = self.taste {
            let choice =
                weights.iter().fold(weights.len(), |a, b| a.wrapping_mul(31).wrapping_add(*b))
                    as u64;
            let liking = |index: usize, weight: usize| {
                let key = taste ^ choice.rotate_left(32) ^ ((index as u64) << 56);
                match Random::new(key).below(10) {
                    0..4 => 0,
                    8 | 9 => 5 * weight,
                    _ => weight,
                }
            };
            let liked: Vec<usize> =
                weights.iter().enumerate().map(|(index, weight)| liking(index, *weight)).collect();
            if liked.iter().any(|weight| *weight > 0) {
                return self.by_weight(&liked);
            }
        }
        self.by_weight(weights)
    }

    fn by_weight(&mut self, weights: &[usize]) -> usize {
        let mut at = self.random.below(weights.iter().sum());
        for (index, weight) in weights.iter().enumerate() {
            if at < *weight {
                return index;
            }
            at -= weight;
        }
        0
    }

    fn one<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.below(from.len())]
    }

    fn files(&mut self) -> Vec<(String, String)> {
        let count = [1, 1, 1, 2, 2, 3][self.below(6)];
        let mut plan: Vec<&'static str> =
            (0..count).map(|_| PACKAGES[self.random.below(PACKAGES.len())]).collect();
        // The last file is `p`, so that most queries go to one package.
        if let Some(last) = plan.last_mut() {
            *last = "p";
        }
        let mut files = Vec::new();
        for (index, package) in plan.into_iter().enumerate() {
            let text = self.one_file(package);
            files.push((format!("f{index}.rego"), text));
        }
        files
    }

    fn one_file(&mut self, package: &'static str) -> String {
        self.file = File::of(package);
        self.imports();
        let most = if self.taste.is_some_and(|taste| taste % 3 == 0) { 9 } else { 4 };
        let count = 1 + self.below(most);
        for _ in 0..count {
            self.used.clear();
            self.fuel = 12 + i32::try_from(self.below(30)).unwrap_or(0);
            self.rule();
        }
        let mut text = String::new();
        if self.chance(4) {
            self.hit("comment");
            text.push_str("# a comment\n");
        }
        if self.chance(if self.annotated { 75 } else { 4 }) {
            let scopes = ["", "package", "subpackages", "subpackages", "subpackages"];
            text.push_str(&self.annotations(&scopes));
        }
        text.push_str(&format!("package {package}\n\n"));
        for import in &self.file.imports {
            text.push_str(&format!("import {import}\n"));
        }
        for rule in std::mem::take(&mut self.file.rules) {
            text.push('\n');
            if !rule.starts_with('#') && self.chance(3) {
                text.push_str(&self.annotations(&["", "rule", "document"]));
            }
            text.push_str(&rule);
            text.push('\n');
        }
        text
    }

    fn imports(&mut self) {
        match self.dialect {
            Dialect::V2 => self.file.imports.push("rego.v2".to_owned()),
            Dialect::V0 => {
                if self.chance(40) {
                    self.hit("import future.keywords");
                    self.file.imports.push("future.keywords.in".to_owned());
                    self.file.imports.push("future.keywords.every".to_owned());
                    if self.chance(50) {
                        self.file.imports.push("future.keywords.contains".to_owned());
                        self.file.imports.push("future.keywords.if".to_owned());
                    }
                } else {
                    self.file.imports.push("future.keywords".to_owned());
                }
            }
            Dialect::V1 => {
                if self.chance(5) {
                    self.hit("import rego.v1");
                    self.file.imports.push("rego.v1".to_owned());
                }
                if self.chance(5) {
                    self.hit("import future.keywords.not");
                    self.file.imports.push("future.keywords.not".to_owned());
                }
            }
        }
        let others: Vec<&'static str> = PACKAGES
            .iter()
            .copied()
            .filter(|package| {
                self.known.iter().any(|rule| rule.package == *package)
                    && *package != self.file.package
            })
            .collect();
        for package in others {
            match self.below(5) {
                0 | 1 => {
                    self.hit("import package");
                    self.file.imports.push(format!("data.{package}"));
                    let name = package.rsplit('.').next().unwrap_or(package).to_owned();
                    self.file.aliases.push((package, name));
                }
                2 => {
                    self.hit("import alias");
                    self.file.imports.push(format!("data.{package} as other"));
                    self.file.aliases.retain(|(_, alias)| alias != "other");
                    self.file.aliases.push((package, "other".to_owned()));
                }
                _ => {}
            }
        }
        if self.chance(8) {
            self.hit("import input");
            self.file.imports.push("input as given".to_owned());
            self.file.input = Some("given");
        }
        if self.chance(4) {
            self.hit("import unused");
            self.file.imports.push("data.nowhere".to_owned());
        }
    }
}

impl Type {
    fn array(of: Type) -> Self {
        Self::Array(Box::new(of))
    }

    fn set(of: Type) -> Self {
        Self::Set(Box::new(of))
    }

    fn object(of: Type) -> Self {
        Self::Object(Box::new(of))
    }
}
