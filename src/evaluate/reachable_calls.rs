//! The documents whose evaluation can make calls.
//!
//! Owns the answer for a document by its path, computed from the graph of rules once per load. A
//! document that can't make calls is evaluated on its caller's thread and needs only one pass.

use crate::rego::Program;

/// The rules that contain a call or depend on one that does, by path.
pub(super) struct ReachableCalls {
    rules: Vec<(String, bool)>,
    any: bool,
}

impl ReachableCalls {
    pub(super) fn of(program: &Program) -> Self {
        let rules = program.rules();
        let mut reaches = vec![false; rules.len()];
        let mut dependents = vec![Vec::new(); rules.len()];
        for (index, rule) in rules.iter().enumerate() {
            for on in &rule.depends_on {
                if let Some(all) = dependents.get_mut(*on) {
                    all.push(index);
                }
            }
        }
        // A call outside any rule could be reached from everywhere.
        let outside = program.call_sites().iter().any(|site| site.rule.is_none());
        let mut open: Vec<usize> = if outside {
            (0..rules.len()).collect()
        } else {
            program.call_sites().iter().filter_map(|site| site.rule).collect()
        };
        while let Some(at) = open.pop() {
            if let Some(known) = reaches.get_mut(at).filter(|known| !**known) {
                *known = true;
                open.extend(dependents.get(at).into_iter().flatten());
            }
        }
        let mut rules: Vec<_> = rules.iter().map(|rule| rule.path.clone()).zip(reaches).collect();
        rules.sort_unstable();
        Self { rules, any: !program.call_sites().is_empty() }
    }

    /// Returns `true` if the policies contain any call.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Returns `true` if the document at `path`, such as `data.release.deny`, can make calls.
    pub(super) fn document(&self, path: &str) -> bool {
        if !self.any {
            return false;
        }
        let first = self.rules.partition_point(|(rule, _)| rule.as_str() < path);
        let below = self.rules.iter().skip(first).take_while(|(rule, _)| rule.starts_with(path));
        let within =
            |rule: &str| matches!(rule.as_bytes().get(path.len()), None | Some(b'.' | b'['));
        let below = below.filter(|(rule, _)| within(rule));
        let above = path.match_indices(['.', '[']).filter_map(|(end, _)| {
            let start = path.get(..end)?;
            let first = self.rules.partition_point(|(rule, _)| rule.as_str() < start);
            self.rules.get(first).filter(|(rule, _)| rule == start)
        });
        let mut found = below.chain(above).map(|(_, reaches)| *reaches).peekable();
        // A path without a known rule could be anything: assume that it makes calls.
        found.peek().is_none() || found.any(|reaches| reaches)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::evaluate::Policies;
    use crate::sources::Sources;

    #[test]
    fn only_documents_that_reach_a_call_can_make_one() {
        let text = "package p\n\nask(d) := platform.discover(d, \"\")\n\nindirect if ask(\"x\").kind\n\n\
                    plain := 1\n\nplainer := plain + 1\n\n\
                    nested.plain := 2\n";
        let mut sources = Sources::text("p.rego", text);
        let other = "package q[\"odd name\"]\n\nx := data.p.indirect\n\ny := 1\n";
        sources.modules.extend(Sources::text("q.rego", other).modules);
        let policies = Policies::builder().load(&sources).unwrap();
        let can_call = |path: &[&str]| policies.query_path(path).can_call();
        for calling in [&["p", "indirect"][..], &["p"], &[], &["q"], &["q", "odd name", "x"]] {
            assert!(can_call(calling), "{calling:?}");
        }
        for plain in
            [&["p", "plain"][..], &["p", "plainer"], &["p", "nested"], &["p", "nested", "plain"]]
        {
            assert!(!can_call(plain), "{plain:?}");
        }
        assert!(!can_call(&["p", "plain", "deeper"]));
    }

    #[test]
    fn a_function_that_stands_in_for_another_is_called() {
        let text = "package p\n\nf(a, b) := [a, b]\n\nplain := f(\"x\", \"\")\n\n\
                    user := x if x := f(\"x\", \"\") with f as platform.discover\n\n\
                    builtin := x if x := trim(\"x\", \"\") with trim as platform.discover\n\n\
                    indexed := platform[\"discover\"](input.x, \"\")\n";
        let policies = Policies::builder().load(&Sources::text("p.rego", text)).unwrap();
        for calling in ["user", "builtin", "indexed"] {
            assert!(policies.query_path(&["p", calling]).can_call(), "{calling}");
        }
        assert!(!policies.query_path(&["p", "plain"]).can_call());
        let none = Policies::builder().load(&Sources::text("p.rego", "package p\n")).unwrap();
        for (query, can_call) in [
            ("platform[\"discover\"](input.x, \"\")", true),
            ("trim(\"x\", \"\") with trim as platform.discover", true),
            ("http.send({\"url\": \"x\", \"method\": \"GET\"})", true),
            ("x := \"platform.discover\"", false),
        ] {
            assert_eq!(none.query(query).unwrap().can_call(), can_call, "{query}");
        }
    }
}
