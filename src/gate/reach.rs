//! What the rules of a load look at, as far as their text shows.
//!
//! Owns what a gate asks before it trusts a verdict: whether `result` reaches a verdict rule beside
//! it, how the modules look at `input`, which calls of the service a verdict can make, and whether
//! anybody looks at a piece of data. All are answered from the words of each definition, outside strings and comments: a name that may be a rule's counts as one,
//! unless the definition binds it itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::evaluate::load::Package;
use crate::evaluate::sources::ModuleSource;
use crate::{Position, Product};

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
    sites: BTreeMap<Rule, Vec<Site>>,
    input: InputUse,
    data: Vec<Vec<String>>,
}

/// A call of the service in a policy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Site {
    /// The function's full name.
    pub function: String,
    pub position: Position,
}

impl Reach {
    /// Reads the modules; `packages` say where their rules are.
    pub fn new<'a>(
        packages: impl Iterator<Item = &'a Package>,
        modules: &[ModuleSource],
        product: &Product,
    ) -> Self {
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
        let (mut sites, mut data) = (BTreeMap::<Rule, Vec<Site>>::new(), Vec::new());
        for module in modules {
            let lines = tokens(&module.text);
            let tests = packages.iter().any(|p| p.is_test && p.files.contains(&module.path));
            if !tests {
                let all: Vec<&Token> = lines.iter().map(|(_, token)| token).collect();
                input = input.max(input_use(&all));
                for (at, token) in all.iter().enumerate() {
                    if matches!(token, Token::Word(word) if word == "data") {
                        data.push(path(all.get(at + 1..).unwrap_or_default()));
                    }
                }
            }
            let mut begin = starts.remove(module.path.as_str()).unwrap_or_default();
            begin.sort();
            for (index, (line, rule)) in begin.iter().enumerate() {
                let end = begin.get(index + 1..).unwrap_or_default();
                let end = end.iter().map(|(l, _)| *l).find(|l| l > line).unwrap_or(u32::MAX);
                let own = lines.iter().filter(|((at, _), _)| at >= line && *at < end);
                let own: Vec<&(Place, Token)> = own.collect();
                sites.entry(rule.clone()).or_default().extend(calls(&own, module, product));
                let own: Vec<&Token> = own.into_iter().map(|(_, token)| token).collect();
                edges.entry(rule.clone()).or_default().extend(mentioned(&own, rule, &rules));
            }
        }
        Self { edges, sites, input, data }
    }

    /// The calls that some rules of a package can make, in the order of the text.
    pub fn sites<'r>(&self, package: &[String], rules: impl Iterator<Item = &'r str>) -> Vec<Site> {
        let mut open: Vec<Rule> = rules.map(|rule| (package.to_vec(), rule.to_owned())).collect();
        let mut seen: BTreeSet<Rule> = open.iter().cloned().collect();
        let mut found = Vec::new();
        while let Some(at) = open.pop() {
            found.extend(self.sites.get(&at).into_iter().flatten().cloned());
            for next in self.edges.get(&at).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        let place =
            |site: &Site| (site.position.file.clone(), site.position.line, site.position.column);
        found.sort_by_key(place);
        found.dedup();
        found
    }

    /// Whether a module may look at what is at a path below `data`.
    pub fn looks_at(&self, path: &[String]) -> bool {
        self.data.iter().any(|looked| looked.iter().zip(path).all(|(own, other)| own == other))
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

/// The calls of the product's functions in a definition.
fn calls(own: &[&(Place, Token)], module: &ModuleSource, product: &Product) -> Vec<Site> {
    let is = |at: usize, wanted: &Token| own.get(at).is_some_and(|(_, token)| token == wanted);
    let mut found = Vec::new();
    for (at, ((line, column), token)) in own.iter().enumerate() {
        let head = matches!(token, Token::Word(word) if word == product.as_str());
        let inside = at.checked_sub(1).is_some_and(|before| is(before, &Token::Mark('.')));
        let replaced =
            at.checked_sub(1).is_some_and(|before| is(before, &Token::Word("with".to_owned())));
        let Some((_, Token::Word(name))) = own.get(at + 2).copied() else { continue };
        if head && !inside && !replaced && is(at + 1, &Token::Mark('.')) {
            let text = module.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
            let function = product.function(name);
            let length = u32::try_from(function.chars().count()).unwrap_or(1);
            found.push(Site {
                position: Position {
                    file: module.path.clone(),
                    line: *line,
                    column: *column,
                    length,
                    text: text.to_owned(),
                },
                function,
            });
        }
    }
    found
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
    let at = |index: Option<usize>| index.and_then(|index| own.get(index).copied());
    for (index, token) in own.iter().enumerate() {
        let before = at(index.checked_sub(1));
        let (word, inside) = match token {
            Token::Word(word) => (word, before == Some(&Token::Mark('.'))),
            // An index, and not the first element of an array.
            Token::Text(text) if before == Some(&Token::Mark('[')) => {
                match at(index.checked_sub(2)) {
                    Some(Token::Word(_) | Token::Mark(']' | ')' | '}')) => (text, true),
                    _ => continue,
                }
            }
            _ => continue,
        };
        let local = !inside && bound.contains(word.as_str());
        for target in rules.get(word).into_iter().flatten().filter(|_| !local) {
            if inside || target.0 == rule.0 {
                found.push(target.clone());
            }
        }
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

/// Line and column, from 1.
type Place = (u32, u32);

/// The characters of a text, counted.
struct Chars<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    line: u32,
    column: u32,
}

impl Chars<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        (self.line, self.column) =
            if c == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        Some(c)
    }

    fn next_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let c = *self.rest.peek()?;
        if wanted(c) { self.next() } else { None }
    }
}

/// The words of a module, each with its place.
fn tokens(text: &str) -> Vec<(Place, Token)> {
    let mut found = Vec::new();
    let mut chars = Chars { rest: text.chars().peekable(), line: 1, column: 1 };
    loop {
        let place = (chars.line, chars.column);
        let Some(c) = chars.next() else { return found };
        match c {
            '#' => while chars.next_if(|c| c != '\n').is_some() {},
            '"' | '`' => {
                let (end, mut value) = (c, String::new());
                while let Some(c) = chars.next().filter(|c| *c != end) {
                    if c == '\\' && end == '"' {
                        value.extend(chars.next());
                    } else {
                        value.push(c);
                    }
                }
                found.push((place, Token::Text(value)));
            }
            ':' if chars.next_if(|c| c == '=').is_some() => found.push((place, Token::Assign)),
            _ if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || c == '_') {
                    word.push(c);
                }
                found.push((place, Token::Word(word)));
            }
            _ if c.is_whitespace() => {}
            _ => found.push((place, Token::Mark(c))),
        }
    }
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
        Reach::new(policies.packages(), &sources.modules, &Product::default())
    }

    #[test]
    fn result_reaches_what_its_definitions_name() {
        let package = ["p".to_owned()];
        for (rules, expected) in [
            ("result := {\"violations\": deny}", true),
            ("result := {\"violations\": all}\n\nall := [x | some x in deny]", true),
            ("result := {\"violations\": data.p.deny}", true),
            ("result := {\"violations\": data.p[\"deny\"]}", true),
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
    fn calls_are_those_that_the_verdict_reaches() {
        let reach = reach(
            "package p\n\ndeny contains \"x\" if not known\n\nknown if {\n\t\
             platform.discover(input.image, \"\").kind\n}\n\nother := platform.evidence({})\n",
        );
        let sites = reach.sites(&["p".to_owned()], ["deny"].into_iter());
        let found: Vec<_> = sites
            .iter()
            .map(|s| (s.function.as_str(), s.position.line, s.position.column))
            .collect();
        assert_eq!(found, [("platform.discover", 6, 2)]);
    }

    #[test]
    fn input_is_looked_at_by_name_as_a_whole_or_not_at_all() {
        for (body, expected) in [
            ("true", InputUse::None),
            ("\"input\" != \"x\" # input", InputUse::None),
            ("input.a.b", InputUse::Fields),
            ("input[\"a b\"]", InputUse::Fields),
            ("input[0]", InputUse::Whole),
            ("some x in input", InputUse::Whole),
            ("some i\n\tinput[i]\n\tinput.a", InputUse::Whole),
            ("data.q.input", InputUse::None),
        ] {
            let found = reach(&format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n"));
            assert_eq!(found.input(), expected, "{body}");
        }
    }
}
