//! What holds for any text.

use proptest::prelude::*;
use serde_json::json;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn garbage_neither_panics_nor_hangs(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "package p", "import data.q as a", "x", "y", " := ", " = ", " if ", "{", "}", "[", "]",
                "(", ")", "a.b", "some ", " in ", "not ", "every ", " with input as ", "else", "\n",
                "\"s\"", "`r`", "|", ",", ":", ";", "1", "-", "data.p", "input", "_", "f(", "é", "#c\n",
                "contains ", "default ", "\t", "\r\n", "set(", "platform.discover(", ".",
            ]),
            0..60,
        ),
        v0: bool,
    ) {
        let text = format!("package p\n{}", words.concat());
        let options = LoadOptions { rego_v0: v0, ..options() };
        let start = std::time::Instant::now();
        if let Err(error) = load(&sources(&[&text], &json!({})), &options) {
            prop_assert!(!error.diagnostics().is_empty(), "{}: {}", error, text);
        }
        prop_assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn rewriting_keeps_lines(
        body in prop::collection::vec(
            prop::sample::select(vec![
                "x%N := cfg.a\n", "x%N := [v | v := cfg[_]]\n", "x%N if { some y in cfg.l; y == lib.n }\n",
                "# cfg.a é\n\n", "x%N := data.q\n", "f%N(cfg) := cfg.b\n",
                "x%N if {\n\tnot lib.n\n\tevery y in cfg { y }\n}\n",
                "x%N := \"cfg.a\"\n", "x%N := `\ncfg.a\n`\n",
            ]),
            0..12,
        ),
    ) {
        let rules: String =
            body.iter().enumerate().map(|(i, rule)| rule.replace("%N", &i.to_string())).collect();
        let text = format!("package p\nimport data.a.b.cfg\nimport data.q as\n lib\n{rules}");
        let loaded = loaded(&[&text, "package q\nn := 1\n"]);
        let rewritten = loaded.rewritten("0.rego").unwrap();
        prop_assert_eq!(rewritten.matches('\n').count(), text.matches('\n').count());
        for (index, line) in text.lines().enumerate() {
            let number = u32::try_from(index + 1).unwrap();
            let position = loaded.position("0.rego", number, 1).unwrap();
            prop_assert_eq!((position.line, position.column), (number, 1));
            prop_assert_eq!(position.text.as_str(), line);
        }
    }
}
