//! What the rules of a load look at, as far as their text shows.
//!
//! Owns two questions that a gate asks before it trusts a verdict: whether `result` reaches a
//! verdict rule beside it, and how the modules look at `input`. Both are answered from the words
//! of each definition, outside strings and comments: a name that may be a rule's counts as one,
//! unless the definition binds it itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::evaluate::load::Package;
use crate::evaluate::sources::ModuleSource;

/// How modules look at `input`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InputUse {
    /// Not at all.
    None,
    /// Each reference is `input.<name>`: what is no object has none of them.
    Fields,
    /// As a whole, or by something that may be an index.
    Whole,
}

/// A word, or what stands between words.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Mark(char),
    Assign,
}

/// A rule: its package and its name there.
type Rule = (Vec<String>, String);

/// The answers about one load.
#[derive(Debug)]
pub(super) struct Reach {
    edges: BTreeMap<Rule, BTreeSet<Rule>>,
    input: InputUse,
}

impl Reach {
    /// Reads the modules; `packages` say where their rules are.
    pub fn new<'a>(packages: impl Iterator<Item = &'a Package>, modules: &[ModuleSource]) -> Self {
        let packages: Vec<&Package> = packages.collect();
        let mut rules: BTreeMap<String, Vec<Rule>> = BTreeMap::new();
        let mut starts: BTreeMap<&str, Vec<(u32, Rule)>> = BTreeMap::new();
        for package in &packages {
            for rule in &package.rules {
                let Some(name) = rule.path.get(package.path.len()) else { continue };
                let key = (package.path.clone(), name.clone());
                rules.entry(name.clone()).or_default().push(key.clone());
                for definition in &rule.definitions {
                    let at = &definition.position;
                    starts.entry(&at.file).or_default().push((at.line, key.clone()));
                }
            }
        }
        let mut edges: BTreeMap<Rule, BTreeSet<Rule>> = BTreeMap::new();
        let mut input = InputUse::None;
        for module in modules {
            let lines = tokens(&module.text);
            let tests = packages.iter().any(|p| p.is_test && p.files.contains(&module.path));
            if !tests {
                let all: Vec<&Token> = lines.iter().map(|(_, token)| token).collect();
                input = input.max(input_use(&all));
            }
            let mut begin = starts.remove(module.path.as_str()).unwrap_or_default();
            begin.sort();
            for (index, (line, rule)) in begin.iter().enumerate() {
                let end = begin.get(index + 1..).unwrap_or_default();
                let end = end.iter().map(|(l, _)| *l).find(|l| l > line).unwrap_or(u32::MAX);
                let own: Vec<&Token> = lines
                    .iter()
                    .filter(|(at, _)| at >= line && *at < end)
                    .map(|(_, token)| token)
                    .collect();
                edges.entry(rule.clone()).or_default().extend(mentioned(&own, rule, &rules));
            }
        }
        Self { edges, input }
    }

    /// How the modules look at `input`; what tests do with it isn't counted.
    pub fn input(&self) -> InputUse {
        self.input
    }

    /// Whether the rule `from` of a package reaches `rule` of the same package.
    pub fn reaches(&self, package: &[String], from: &str, rule: &str) -> bool {
        let wanted = (package.to_vec(), rule.to_owned());
        let mut seen = BTreeSet::new();
        let mut open = vec![(package.to_vec(), from.to_owned())];
        while let Some(at) = open.pop() {
            for next in self.edges.get(&at).into_iter().flatten() {
                if *next == wanted {
                    return true;
                }
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        false
    }
}

/// The rules that a definition's words may mean.
fn mentioned(own: &[&Token], rule: &Rule, rules: &BTreeMap<String, Vec<Rule>>) -> Vec<Rule> {
    let mut found = Vec::new();
    // The head's own name begins it; what is bound further in is the definition's own.
    let bound: BTreeSet<&str> = own
        .windows(2)
        .skip(1)
        .filter_map(|pair| match pair {
            [Token::Word(word), Token::Assign] => Some(word.as_str()),
            [Token::Word(some), Token::Word(word)] if some == "some" => Some(word.as_str()),
            _ => None,
        })
        .collect();
    let mut before: Option<&Token> = None;
    for token in own {
        let (word, inside) = match token {
            Token::Word(word) => (word, before == Some(&Token::Mark('.'))),
            Token::Text(text) if before == Some(&Token::Mark('[')) => (text, true),
            _ => {
                before = Some(token);
                continue;
            }
        };
        let local = !inside && bound.contains(word.as_str());
        for target in rules.get(word).into_iter().flatten().filter(|_| !local) {
            if inside || target.0 == rule.0 {
                found.push(target.clone());
            }
        }
        before = Some(token);
    }
    // A package as a whole, or one of its rules by a variable.
    for (at, token) in own.iter().enumerate() {
        if matches!(token, Token::Word(word) if word == "data") {
            let path = path(own.get(at + 1..).unwrap_or_default());
            for target in rules.values().flatten() {
                if target.0.starts_with(&path) {
                    found.push(target.clone());
                }
            }
        }
    }
    found.retain(|target| target != rule);
    found
}

/// The names that follow a reference's head, as long as they are written out.
fn path(tokens: &[&Token]) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = tokens;
    loop {
        rest = match rest {
            [Token::Mark('.'), Token::Word(word), more @ ..] => {
                path.push(word.clone());
                more
            }
            [Token::Mark('['), Token::Text(text), Token::Mark(']'), more @ ..] => {
                path.push(text.clone());
                more
            }
            _ => return path,
        };
    }
}

fn input_use(tokens: &[&Token]) -> InputUse {
    let mut found = InputUse::None;
    for (at, token) in tokens.iter().enumerate() {
        let is = matches!(token, Token::Word(word) if word == "input");
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let replaced = matches!(before, Some(Token::Word(word)) if word == "with");
        if !is || replaced || before == Some(&&Token::Mark('.')) {
            continue;
        }
        let field = !path(tokens.get(at + 1..).unwrap_or_default()).is_empty();
        found = found.max(if field { InputUse::Fields } else { InputUse::Whole });
    }
    found
}

/// The words of a module, each with its line from 1.
fn tokens(text: &str) -> Vec<(u32, Token)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '"' | '`' => {
                let (start, end, mut value) = (line, c, String::new());
                while let Some(c) = chars.next().filter(|c| *c != end) {
                    line += u32::from(c == '\n');
                    if c == '\\' && end == '"' {
                        value.extend(chars.next());
                    } else {
                        value.push(c);
                    }
                }
                found.push((start, Token::Text(value)));
            }
            ':' if chars.next_if_eq(&'=').is_some() => found.push((line, Token::Assign)),
            _ if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                found.push((line, Token::Word(word)));
            }
            _ if c.is_whitespace() => {}
            _ => found.push((line, Token::Mark(c))),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::evaluate::Policies;
    use crate::evaluate::load::LoadOptions;
    use crate::evaluate::sources::Sources;

    fn reach(text: &str) -> Reach {
        let module = ModuleSource { path: "p.rego".to_owned(), text: text.to_owned() };
        let sources = Sources { modules: vec![module], ..Sources::default() };
        let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
        Reach::new(policies.packages(), &sources.modules)
    }

    #[test]
    fn result_reaches_what_its_definitions_name() {
        let package = ["p".to_owned()];
        for (rules, expected) in [
            ("result := {\"violations\": deny}", true),
            ("result := {\"violations\": all}\n\nall := [x | some x in deny]", true),
            ("result := {\"violations\": data.p.deny}", true),
            ("result := {\"violations\": data.p[\"deny\"]}", true),
            ("result := {\"violations\": data.p[input.x]}", true),
            ("result := {\"violations\": []}", false),
            ("# deny\nresult := {\"violations\": [\"deny\"]}", false),
            ("result := {\"violations\": deny} if {\n\tdeny := input.d\n}", false),
            ("result := {\"violations\": [`deny`]}\n\nother := deny", false),
        ] {
            let text = format!("package p\n\n{rules}\n\ndeny contains \"x\" if input.x\n");
            assert_eq!(reach(&text).reaches(&package, "result", "deny"), expected, "{rules}");
        }
    }

    #[test]
    fn input_is_looked_at_by_name_as_a_whole_or_not_at_all() {
        for (body, expected) in [
            ("true", InputUse::None),
            ("\"input\" == \"x\" # input", InputUse::None),
            ("input.a.b", InputUse::Fields),
            ("input[\"a b\"]", InputUse::Fields),
            ("input[0]", InputUse::Whole),
            ("some x in input", InputUse::Whole),
            ("some i; input[i]; input.a", InputUse::Whole),
            ("data.q.input", InputUse::None),
        ] {
            let found = reach(&format!("package p\n\ndeny contains \"x\" if {{ {body} }}\n"));
            assert_eq!(found.input(), expected, "{body}");
        }
    }
}
