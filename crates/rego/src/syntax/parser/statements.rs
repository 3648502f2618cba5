//! Parses statements: packages, imports, rules and, if nothing else fits, expressions.

use std::sync::Arc;

use super::super::token::{Keywords, Tok};
use super::super::tree::{Body, Import, Package, Rule, Span, Term, TermKind, is_root};
use super::{MAX_PROBLEMS, Parser, keyword_in};
use crate::problem::Problem;

/// A statement of a text.
pub(super) enum Statement {
    Package(Package),
    Import(Import),
    Rule(Box<Rule>),
    /// Expressions, some of which are rules: `p["a"]`, `f("a")`, `x = 1`.
    Body(Body),
}

impl Parser<'_> {
    /// Parses all statements. After an erroneous one, continues with the next one at the beginning
    /// of a line, so that all errors are reported at once.
    pub(super) fn statements(&mut self, skip_rules: bool) -> Vec<Statement> {
        let mut statements = Vec::new();
        while self.tok() != Tok::Eof {
            let errors = self.state.errors.len();
            let first = self.state.at;
            self.forget();
            if self.statement(skip_rules, &mut statements) {
                continue;
            }
            self.first_failure.get_or_insert(self.state.at);
            if self.state.errors.len() == errors {
                // OPA stops parsing here without an error.
                if errors == 0 {
                    break;
                }
            }
            if skip_rules || self.state.errors.len() >= MAX_PROBLEMS || !self.recover(first) {
                break;
            }
        }
        statements
    }

    /// Skips to the apparent beginning of the next statement.
    fn recover(&mut self, first: usize) -> bool {
        let mut at = first.max(self.state.at.saturating_sub(1));
        loop {
            at += 1;
            let token = self.token(at);
            if token.kind == Tok::Eof || at >= self.tokens.len() {
                return false;
            }
            let at_line_start = self
                .text
                .get(..usize::try_from(token.start).unwrap_or(0))
                .is_none_or(|before| before.is_empty() || before.ends_with('\n'));
            if at_line_start && token.kind == Tok::Ident && at > first {
                let errors = std::mem::take(&mut self.state.errors);
                self.state.at = at;
                self.depth = 0;
                self.classify_current();
                let new = std::mem::replace(&mut self.state.errors, errors);
                self.state.errors.extend(new);
                return true;
            }
        }
    }

    /// Parses a statement; returns `false` if there is none.
    fn statement(&mut self, skip_rules: bool, out: &mut Vec<Statement>) -> bool {
        // Sets aside the errors of earlier statements, from which the parser has recovered.
        let earlier = std::mem::take(&mut self.state.errors);
        let result = self.statement_inner(skip_rules, out);
        let new = std::mem::replace(&mut self.state.errors, earlier);
        let result = result && new.is_empty();
        for problem in new {
            self.report(problem);
        }
        result
    }

    fn statement_inner(&mut self, skip_rules: bool, out: &mut Vec<Statement>) -> bool {
        if !skip_rules && self.keyword_as_rule_name(false) {
            return false;
        }
        if self.tok() == Tok::Package {
            let saved = self.save();
            if let Some(package) = self.package() {
                if self.tok() == Tok::Sub {
                    self.illegal("");
                    return false;
                }
                out.push(Statement::Package(package));
                return true;
            }
            if self.failed() {
                return false;
            }
            self.restore(saved);
        }
        if self.tok() == Tok::Import {
            let saved = self.save();
            if let Some(import) = self.import() {
                if self.tok() == Tok::Sub {
                    self.illegal("");
                    return false;
                }
                match head_word(&import.path) {
                    "rego" => self.rego_import(&import),
                    "future" => self.future_import(&import),
                    _ => {}
                }
                out.push(Statement::Import(import));
                return true;
            }
            if self.failed() {
                return false;
            }
            self.restore(saved);
        }
        if !skip_rules {
            let saved = self.save();
            if let Some(rules) = self.rules() {
                out.extend(rules.into_iter().map(|rule| Statement::Rule(Box::new(rule))));
                return true;
            }
            if self.failed() {
                return false;
            }
            self.restore(saved);
            self.forget();
        }
        if let Some(body) = self.query(true, Tok::Eof) {
            out.push(Statement::Body(body));
            return true;
        }
        false
    }

    /// Reports a keyword that is used as a rule's name (`every := 1`).
    pub(super) fn keyword_as_rule_name(&mut self, is_default: bool) -> bool {
        use Tok::{Assign, Contains, If, LParen, Unify};
        let tok = self.tok();
        let followers: &[Tok] = match tok {
            Tok::Every | Tok::If | Tok::In | Tok::Some | Tok::As => {
                &[Assign, Unify, If, Contains, LParen]
            }
            Tok::Not | Tok::LogicalAnd | Tok::LogicalOr => &[Assign, Unify, If, Contains],
            Tok::Package | Tok::Import => &[Assign, Unify, LParen],
            Tok::Contains => &[If, Contains],
            _ => return false,
        };
        if !is_default && !followers.contains(&self.kind_at(self.state.at + 1)) {
            return false;
        }
        self.error_here(format!("{} keyword cannot be used for rule name", tok.name()));
        true
    }

    /// Returns `true` at a name, or at a keyword that can be used as one.
    fn name_or_keyword(&mut self) -> bool {
        let is_name = self.tok() == Tok::Ident || self.may_be_name(self.tok());
        if is_name {
            self.state.tok = Tok::Ident;
        }
        is_name
    }

    /// Moves to the path after `package` or `import`; `None` if something else follows.
    fn begin_path(&mut self) -> Option<()> {
        self.scan_space();
        if matches!(self.tok(), Tok::Dot | Tok::LBracket) {
            return None;
        }
        if self.tok() == Tok::Space {
            self.scan();
        }
        if !self.name_or_keyword() {
            return self.reject("");
        }
        Some(())
    }

    fn package(&mut self) -> Option<Package> {
        let start = self.start();
        self.begin_path()?;
        let term = self.term()?;
        let data = |span: Span| Term { kind: TermKind::Var(Arc::from("data")), span };
        let word = |name: &Arc<str>, span| Term { kind: TermKind::String(Arc::clone(name)), span };
        let path = match term.ungrouped().kind {
            TermKind::Var(ref name) => vec![data(term.span), word(name, term.span)],
            TermKind::Ref(ref parts) => {
                let mut path = Vec::with_capacity(parts.len() + 1);
                for (index, part) in parts.iter().enumerate() {
                    match (&part.kind, index) {
                        (TermKind::Var(name), 0) => {
                            path.push(data(part.span));
                            path.push(word(name, part.span));
                        }
                        (TermKind::String(name), 1..) => path.push(word(name, part.span)),
                        (_, index) => {
                            let wanted = if index == 0 { "var" } else { "string" };
                            let name = value_name(part);
                            let message = format!("unexpected {name} token: expecting {wanted}");
                            self.error(part.span, message);
                            return None;
                        }
                    }
                }
                path
            }
            _ => return self.reject(""),
        };
        Some(Package { path, span: self.since(start) })
    }

    fn import(&mut self) -> Option<Import> {
        let start = self.start();
        self.begin_path()?;
        // Keywords that v0 has to import are names here, and so is the token after the path.
        let keywords = std::mem::replace(&mut self.keywords, Keywords::NONE);
        let terms = std::mem::take(&mut self.terms);
        let term = self.term();
        self.keywords = keywords;
        self.terms = terms;
        let Some(term) = term else {
            if !self.failed() {
                self.error_here("expected path");
            }
            return None;
        };
        let path = self.import_path(term.into_ungrouped())?;
        if self.tok() == Tok::As {
            self.scan();
            self.require(Tok::Ident, "expected var")?;
            if let Some(alias) = self.term() {
                match alias.ungrouped().kind {
                    TermKind::Var(ref name) if is_root(name) => {
                        let message = format!(
                            "unexpected import alias, must not be a reserved name, got: {name}"
                        );
                        self.error(alias.span, message);
                        return None;
                    }
                    TermKind::Var(ref name) => {
                        let alias = Some((Arc::clone(name), alias.span));
                        return Some(Import { path, alias, span: self.since(start) });
                    }
                    _ => {}
                }
            }
            return self.reject("expected var");
        }
        // The last word becomes a name, so it can't be a keyword.
        let last = match &path.kind {
            TermKind::Ref(_) if head_word(&path) == "future" => None,
            TermKind::Ref(parts) => parts.last(),
            _ => Some(&path),
        };
        if let Some(Term { kind: TermKind::String(word) | TermKind::Var(word), span }) = last
            && keyword_in(self.options.version, word)
        {
            let message =
                format!("unexpected import path, must not end with a keyword, got: {word}");
            let hint = "import a different path or use an alias";
            let problem = Problem::parse(*span, message).hint(hint);
            self.report(problem);
        }
        Some(Import { path, alias: None, span: self.since(start) })
    }

    /// Checks the path of an import: words, the first of which determines the kind of import.
    fn import_path(&mut self, path: Term) -> Option<Term> {
        match &path.kind {
            TermKind::Var(_) => {}
            TermKind::Ref(parts) => {
                let is_string = |part: &&Term| matches!(part.kind, TermKind::String(_));
                if let Some(part) = parts.iter().skip(1).find(|part| !is_string(part)) {
                    let name = value_name(part);
                    let span = part.span;
                    self.error(span, format!("unexpected {name} token: expecting string"));
                    return None;
                }
            }
            _ => {
                return self.fail_here("expected path");
            }
        }
        if !matches!(head_word(&path), "data" | "input" | "future" | "rego") {
            let got = path.ref_parts().first().map(ToString::to_string).unwrap_or_default();
            let problem = Problem::parse(
                path.span,
                format!(
                    "unexpected import path, must begin with one of: \
                     {{data, future, input, rego}}, got: {got}"
                ),
            );
            self.report(problem.hint(format!(
                "to import a package, write `import data.{path}`; built-in functions need no import"
            )));
            return None;
        }
        Some(path)
    }

    fn rego_import(&mut self, import: &Import) {
        let (v1, v2) = rego_version(import);
        if !v1 && !v2 {
            let message =
                format!("invalid import `{}`, must be one of: `rego.v1`, `rego.v2`", import.path);
            self.error(import.path.span, message);
            return;
        }
        if let Some((_, span)) = import.alias {
            self.error(span, "`rego` imports cannot be aliased");
            return;
        }
        if v1 {
            self.add_keywords(Keywords::V0_FUTURE);
        } else {
            self.add_keywords(Keywords::ALL);
            self.not_bodies = true;
        }
    }

    fn future_import(&mut self, import: &Import) {
        let parts = import.path.ref_parts();
        let word = |index: usize| match parts.get(index).map(|part| &part.kind) {
            Some(TermKind::String(word)) => &**word,
            _ => "",
        };
        if parts.len() < 2 || word(1) != "keywords" {
            self.error(import.path.span, "invalid import, must be `future.keywords`");
            return;
        }
        if let Some((_, span)) = import.alias {
            self.error(span, "`future` imports cannot be aliased");
            return;
        }
        let keywords = if parts.len() == 3 {
            let Some(keyword) = Keywords::named(word(2)) else {
                let message =
                    "unexpected keyword, must be one of [and contains every if in not or]";
                self.error(import.path.span, message);
                return;
            };
            keyword
        } else {
            Keywords::ALL
        };
        self.not_bodies |= keywords.has(Keywords::NOT);
        self.add_keywords(keywords);
    }

    /// Adds keywords, and classifies the current token again, which was read before they were
    /// known.
    fn add_keywords(&mut self, keywords: Keywords) {
        self.keywords = self.keywords.with(keywords);
        if self.tok() == Tok::Ident {
            let tok = self.kind_at(self.state.at);
            let future = matches!(
                tok,
                Tok::In
                    | Tok::Every
                    | Tok::Contains
                    | Tok::If
                    | Tok::Not
                    | Tok::LogicalAnd
                    | Tok::LogicalOr
            );
            if future {
                self.state.tok = tok;
            }
        }
    }
}

/// The first word of an import's path.
pub(in super::super) fn head_word(path: &Term) -> &str {
    match path.ref_parts() {
        [Term { kind: TermKind::Var(name), .. }, ..] => name,
        _ => "",
    }
}

/// Returns two flags: `true` for `rego.v1`, and `true` for `rego.v2`.
pub(super) fn rego_version(import: &Import) -> (bool, bool) {
    match import.path.ref_parts() {
        [_, Term { kind: TermKind::String(version), .. }] if head_word(&import.path) == "rego" => {
            (&**version == "v1", &**version == "v2")
        }
        _ => (false, false),
    }
}

/// OPA's name of the type of a term.
pub(super) fn value_name(term: &Term) -> &'static str {
    match &term.ungrouped().kind {
        TermKind::Var(name) if is_root(name) => "ref",
        kind => kind.name(),
    }
}
