//! Queries: rules, packages, whole documents, and statements.

use super::{Dialect, File, Generator, Kind, Scope, Type};

/// Queries of documents that consist of rules and base data.
const DOCUMENTS: &[&str] = &[
    "data",
    "data[x]",
    "data[x][y]",
    "x := data[_]",
    "x = data",
    "data with input.n as 7",
    "data with data.d as {\"n\": 9}",
    "x := data[_] with input as {}",
    "data.p[x]",
    "data.p[x] = y",
    "data.p with input.s as \"b\"",
    "data.a",
    "data.a.b[x]",
    "data.lib",
    "data.system",
    "x := count(data)",
    "walk(data.p, [x, y])",
    "data[x].r1 = y",
    "not data.system",
];

impl Generator {
    /// Generates the queries of a program.
    pub(super) fn queries(&mut self) -> Vec<String> {
        let mut queries: Vec<String> = Vec::new();
        for rule in self.known.clone() {
            if !matches!(rule.kind, Kind::Function(..)) {
                let query = format!("data.{}.{}", rule.package, rule.name);
                if !queries.contains(&query) {
                    queries.push(query);
                }
            }
        }
        // The last rules are the most interesting: they refer to earlier ones.
        if queries.len() > 6 {
            queries.drain(..queries.len() - 6);
        }
        if self.chance(35) {
            self.hit("query of a package");
            queries.push("data.p".to_owned());
        }
        let system = self.known.iter().any(|rule| rule.package == "system");
        if self.chance(if system { 60 } else { 12 }) {
            self.hit("query of a document");
            queries.push(self.one(DOCUMENTS).to_owned());
        }
        if self.chance(25) && self.dialect == Dialect::V1 {
            self.hit("query of statements");
            self.fuel = 10;
            self.file = File::of("");
            let mut scope = Scope::default();
            let count = 1 + self.below(2);
            let mut body = self.body(&mut scope, count, 2);
            self.use_up(&mut scope, &mut body, "");
            queries.push(body.join("; ").replace('\n', " "));
        }
        queries
    }

    /// Generates a reference to a package that no rule of this file's package is part of.
    pub(super) fn whole_package(&mut self) -> Option<String> {
        let package = self.file.package;
        let apart = |other: &str| {
            let (a, b) = (format!("{package}."), format!("{other}."));
            !a.starts_with(&b) && !b.starts_with(&a)
        };
        let packages: Vec<&'static str> =
            self.known.iter().map(|rule| rule.package).filter(|other| apart(other)).collect();
        if packages.is_empty() || package.is_empty() {
            return None;
        }
        self.hit("package as a value");
        let at = self.below(packages.len());
        Some(format!("data.{}", packages[at]))
    }
}

impl Type {
    /// Returns a type that differs in what is within it.
    pub(super) fn unlike(&self) -> Self {
        let other = |of: &Self| match of {
            Self::Number => Self::String,
            Self::String => Self::Boolean,
            _ => Self::Number,
        };
        match self {
            Self::Array(of) => Self::array(other(of)),
            Self::Set(of) => Self::set(other(of)),
            Self::Object(of) => Self::object(other(of)),
            of => other(of),
        }
    }
}
