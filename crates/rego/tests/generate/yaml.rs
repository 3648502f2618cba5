//! YAML texts: from a grammar, from a soup of fragments, and damaged ones.
//!
//! A case is defined by its seed: a policy that reads some forty texts, or one with a `# METADATA`
//! block. The files that `stored` cases come from are read as data and input as well.

use super::case::Case;
use super::random::Random;

/// The number of texts in a case.
const TEXTS: usize = 40;
/// The policy that reads a text.
const POLICY: &str =
    "package p\n\nread := yaml.unmarshal(input)\n\nvalid := yaml.is_valid(input)\n";

/// Scalars, with what matters about each: types, tags, quotes, blocks.
const SCALARS: &[&str] = &[
    "a",
    "b c",
    "1",
    "-1",
    "+1",
    "1.0",
    "1.50",
    ".5",
    "1e3",
    "1e-7",
    "1e20",
    "1e400",
    "-1e400",
    "123456789012.5",
    "0x1F",
    "0X1f",
    "0o17",
    "0O17",
    "017",
    "08",
    "0b101",
    "-0b11",
    "-0o7",
    "0o-7",
    "0b+1",
    "1_000",
    "1__0",
    "_1",
    "0x_f",
    "1_0.5",
    ".1_0",
    "1e1_0",
    "1.",
    ".",
    "+.",
    "-.5",
    ".e5",
    "1.e5",
    "-0",
    "-0.0",
    "00",
    "0x",
    "0o8",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "+9223372036854775808",
    "12345678901234567890123",
    "3.14159265358979323846",
    "1e-400",
    "5e-324",
    "yes",
    "no",
    "on",
    "Off",
    "y",
    "N",
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "null",
    "Null",
    "NULL",
    "~",
    "nil",
    "",
    ".inf",
    "-.INF",
    "+.Inf",
    ".nan",
    ".NaN",
    "inf",
    "2024-01-01",
    "2024-1-1",
    "2024-02-30",
    "2024-01-01T10:00:00Z",
    "2024-01-01t1:2:3.5+02:00",
    "2024-01-01 10:00:00",
    "2024-01-01  10:00:00,5",
    "2024-01-01T10:00:00",
    "2024-01-01T10:00:00+24:00",
    "2024-01-01 10:00:00 Z",
    "20240-1-1",
    "0000-01-01",
    "12:30",
    "190:20:30.15",
    "<<",
    "=",
    "!!merge <<",
    "! <<",
    "'<<'",
    "-",
    "- x",
    "--",
    "?",
    "? x",
    ":",
    ":x",
    "x:",
    "a:b",
    "a: b",
    "a #b",
    "a# b",
    "#c",
    "@a",
    "`a",
    "%a",
    "a%",
    "&x a",
    "&x",
    "*x",
    "* x",
    "&x *x",
    "*x : 1",
    "|",
    ">",
    "'q'",
    "'it''s'",
    "'a\n  b'",
    "'a\n\n  b'",
    "'",
    "\"d\"",
    "\"\\x41\\u00e9\\U0001F600\"",
    "\"\\ud83d\\ude00\"",
    "\"\\/\"",
    "\"\\'\"",
    "\"\\0\\a\\b\\e\\f\\n\\r\\t\\v\\N\\_\\L\\P\\ \"",
    "\"a\\\n  b\"",
    "\"a \\\n\\\n b\"",
    "\"a\n  b\"",
    "\"a\n\n\n  b\"",
    "\"a\nb\"",
    "\"\\z\"",
    "\"\\x4\"",
    "\"\\\tx\"",
    "\"",
    "\"a\" b",
    "'a'b",
    "! 1",
    "! true",
    "! 'x'",
    "!",
    "!a",
    "!!str 1",
    "!!str",
    "!!int 1.0",
    "!!int '3'",
    "!!int 1e3",
    "!!float 1",
    "!!float 12345678901234567890",
    "!!float x",
    "!!bool yes",
    "!!bool 'true'",
    "!!null ''",
    "!!null x",
    "!!null",
    "!!binary aGk=",
    "!!binary aGk",
    "!!binary 'aG k='",
    "!!binary |\n  aGVs\n  bG8=",
    "!!binary /w==",
    "!!binary aGl=",
    "!!timestamp 2024-01-01",
    "!!timestamp '2024-1-1'",
    "!!timestamp 2024-01-01T10:00:00.5-03:30",
    "!!timestamp x",
    "!!map {a: 1}",
    "!!seq [1]",
    "!!map [1]",
    "!!set {a, b}",
    "!<tag:yaml.org,2002:str> 1",
    "!<!!int> 1",
    "!e!x 1",
    "!a%41%c3%a9 1",
    "!!foo 1",
    "!!str &x 1",
    "&x !!str 1",
    "&x &y 1",
    "!a !b 1",
    "!!str [a]",
    "[a, b]",
    "[a, b,]",
    "[,]",
    "[a b]",
    "[a\n b]",
    "[a: 1]",
    "[? a : 1]",
    "[? a]",
    "[?]",
    "[: 1]",
    "[a, [b], {c: d}]",
    "[a",
    "a]",
    "[- a]",
    "[-]",
    "[a:b, c :d]",
    "[a?b]",
    "{}",
    "[]",
    "{a: 1}",
    "{a: 1, a: 2}",
    "{a, b}",
    "{a:1}",
    "{a:\t1}",
    "{\"a\":1}",
    "{\"a\" :1}",
    "{a: 1",
    "{? a : 1}",
    "{? a}",
    "{: 1}",
    "{a: , b: }",
    "{a: 1,}",
    "{, a}",
    "{k: -}",
    "{[a]: b}",
    "{a: b: c}",
    "{a: #c\n 1}",
    "{a: 1} b",
    "|\n x\n",
    "|\n  x\n\n  y",
    "|-\n x\n",
    "|+\n x\n\n",
    "|2\n   x\n",
    ">2\n   x",
    ">\n x\n y\n\n z\n",
    ">-\n  x\n   y\n  z\n",
    ">+\n x\n\n\n",
    "|+2\n    x\n",
    "|2+\n   x\n",
    "|x\n y",
    "|0\n x",
    "|\n\tx",
    "|\n  \tx\n",
    "| # c\n x",
    "|# c\n x",
    "|\nx\n",
    ">\n\n  x\n",
    "|\n   \n  x",
    "|-",
    "é",
    "😀",
    "a\u{a0}b",
    "\u{a0}",
    "a\u{85}b",
    "a\u{2028}b",
    "\u{2029}",
    "\u{feff}",
    "a\u{feff}b",
    "a\u{7f}",
    "\u{1}",
    "a\rb",
    "a\tb",
    "\t",
    "a\t",
    "a\n  b",
    "a\n\n  b",
    "a\n b: c",
    "a\n- b",
    "a\n\tb",
    "a\n \t b",
    "a\n  # c\n  b",
    "a: b\nc",
];

const KEYS: &[&str] = &[
    "a",
    "b",
    "c",
    "a",
    "x y",
    "1",
    "\"1\"",
    "1.0",
    "1.50",
    ".5",
    "1e3",
    "1e-7",
    "1e20",
    "123456789012.5",
    "0x10",
    "16",
    "18446744073709551616",
    "true",
    "\"true\"",
    "yes",
    "null",
    "~",
    "''",
    "'a'",
    "\"a\"",
    "<<",
    "'<<'",
    "!!merge <<",
    "!!merge a",
    "!!str 1",
    "!!int '1'",
    "!!binary YQ==",
    "!!timestamp 2024-01-01",
    "!!null ''",
    "!x a",
    "2024-01-01",
    ".inf",
    "-.inf",
    ".nan",
    "&k a",
    "*x",
    "? a\n",
    "? [a]\n",
    "[a]",
    "{a: 1}",
    "- a",
    "",
    "é",
    "a\u{85}",
    "-0",
    "0",
    "+1",
    "1_000",
    "0.10",
    "a:b",
    "a#",
    "#a",
    "&k",
    "!t",
    "? ",
    "\"a\\\n b\"",
    "'a\n b'",
    "|\n a\n",
    "-0.0",
    ".INF",
    "off",
];

/// What may stand between other things.
const FRAGMENTS: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\n ",
    "\n  ",
    "\r\n",
    "\r",
    "\n\n",
    "\n\t",
    " \t",
    "\t ",
    ": ",
    ":",
    ":\t",
    ":\n",
    "- ",
    "-",
    "-\t",
    "-\n",
    "? ",
    "?",
    "?\t",
    ", ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "#",
    " # c",
    "# c\n",
    "\t# c\n",
    "# c\n\t# d\n",
    "---",
    "--- ",
    "---\n",
    "\n---\n",
    "\n--- # c",
    "...",
    "...\n",
    "\n...\n",
    "&x ",
    "*x",
    "!",
    "!!",
    "!!str ",
    "! ",
    "|",
    "|\n",
    ">",
    ">-\n",
    "|+\n",
    "'",
    "\"",
    "\\",
    "%",
    "%YAML 1.1\n",
    "%YAML 1.2\n---\n",
    "%YAML 1.1\n---\n",
    "%YAML 2.0\n---\n",
    "%TAG !e! tag:e,2000:\n---\n",
    "%TAG ! !!\n---\n",
    "%FOO bar\n---\n",
    "%YAML 1.1 # c\n--- ",
    "<<: ",
    "<<: *x\n",
    "<<: [*x, {b: 2}]\n",
    "a",
    "b",
    "1",
    "a: 1\n",
    "b: 2",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{a0}",
    "\0",
    "\u{7f}",
    "é",
    "@",
    "`",
    "a:\t1",
    "a:\t\tb",
    "- - ",
    "- a\n",
    "  - b\n",
    "- ? ",
    "? a\n: b\n",
    ": ",
    "\n: ",
    "\"\\x41\"",
    "'it''s'",
    "~",
    "null",
    "=",
    "!a%20b ",
    "!<x> ",
    "&a",
    "*a ",
    "\n#\n",
];

/// Whole documents.
const DOCUMENTS: &[&str] = &[
    "apiVersion: v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {app: web, tier: \"1\"}\nspec:\n  containers:\n  - name: web\n    image: \"r.example/web:1.0\"\n    ports:\n    - containerPort: 8080\n      protocol: TCP\n    command: [\"/bin/sh\", \"-c\", 'echo ok']\n    env:\n    - {name: A, value: yes}\n    - name: B\n      value: |\n        x\n          y\n\n        z\n",
    "on: push\njobs:\n  build: &build\n    runs-on: ubuntu-latest # c\n    steps:\n      - uses: actions/checkout@v4\n      - run: >-\n          make\n          all\n        with: {mode: 0755, time: 12:30}\n  test:\n    <<: *build\n    needs: build\n",
    "base: &b {a: 1, b: 2}\nmore: &m\n  c: 3\nall:\n  <<: [*b, *m]\n  b: 4\nlist:\n- *b\n-\n  - x\n  - - y\n    - z\n? long key\n: value\n",
    "---\n# head\na: \"x\\ty\"\nb: 'it''s'\nc: plain text\n  over lines\nd:\n  - 2024-01-01\n  - ~\n  - 1.10\n...\n---\nb: 2\n",
];

/// Blocks of metadata.
const BLOCKS: &[&str] = &[
    "title: A rule\ndescription: |\n  Some\n  text\nscope: rule\ncustom:\n  severity: 1.50\n  when: 2024-01-01\n  limit: 1e3\nrelated_resources:\n- ref: https://x.example/a\n  description: d\n- https://y.example\nauthors:\n- A B <a@b.example>\n- name: C\norganizations:\n- D\n- 1.0\n",
    "scope: document\nentrypoint: true\nlabels:\n  a: 1\n  1.0: b\ncustom: {limit: 1e400, bin: !!binary aGk=, 1.50: y}\n",
    "custom:\n  base: &b {a: 1}\n  other:\n    <<: *b\n    b: [1, 0x10, 1_000, .5, yes, on]\n",
];

fn scalar(random: &mut Random) -> String {
    (*random.pick(SCALARS)).to_owned()
}

fn indented(text: &str, by: &str) -> String {
    text.replace('\n', &format!("\n{by}"))
}

fn node(depth: usize, random: &mut Random) -> String {
    if depth == 0 {
        return scalar(random);
    }
    let count = 1 + random.below(3);
    match random.below(10) {
        0..=4 => (0..count)
            .map(|_| {
                let by = *random.pick(&["  ", "  ", " ", "    ", "\t", ""]);
                let between = *random.pick(&[
                    " ", " ", " ", "  ", "\n  ", "\n", "\t", "", " &k ", " # c\n  ", " !!map ",
                ]);
                let end = *random.pick(&[
                    "\n", "\n", "\n", "\n", "\r\n", "\n\n", " # c\n", "\n# c\n", "\t\n", "",
                    "\n\t\n",
                ]);
                let (key, value) = (random.pick(KEYS), node(depth - 1, random));
                format!("{key}:{between}{}{end}", indented(&value, by))
            })
            .collect(),
        5..=7 => (0..count)
            .map(|_| {
                let dash = *random.pick(&[
                    "- ",
                    "- ",
                    "- ",
                    "-  ",
                    "-\n  ",
                    "-\t",
                    "-",
                    "- &k ",
                    "- # c\n  ",
                ]);
                let end = *random.pick(&["\n", "\n", "\n", "\n\n", " # c\n", ""]);
                format!("{dash}{}{end}", indented(&node(depth - 1, random), "  "))
            })
            .collect(),
        8 => {
            let items: Vec<String> = (0..count).map(|_| node(depth - 1, random)).collect();
            let comma = *random.pick(&[", ", ",", " , ", ",\n", ",\t"]);
            format!("[{}]", items.join(comma))
        }
        _ => scalar(random),
    }
}

/// Returns a text with some of it changed.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(chars.len() + 1);
        let end = (at + random.below(6)).min(chars.len());
        let new: Vec<char> = match random.below(6) {
            0 => Vec::new(),
            1 => SCALARS[random.below(SCALARS.len())].chars().collect(),
            2 => chars[at..end].iter().rev().copied().collect(),
            _ => FRAGMENTS[random.below(FRAGMENTS.len())].chars().collect(),
        };
        let end = if random.chance(50) { at } else { end };
        chars.splice(at..end, new);
    }
    chars.into_iter().collect()
}

/// Returns the text of a seed's generator; `bases` are further documents to damage.
pub fn text(random: &mut Random, bases: &[String]) -> String {
    let base = |random: &mut Random| {
        let own = random.below(DOCUMENTS.len() + bases.len());
        DOCUMENTS
            .get(own)
            .map_or_else(|| bases[own - DOCUMENTS.len()].clone(), |text| (*text).to_owned())
    };
    match random.below(10) {
        0 | 1 => format!("{}: {}", random.pick(KEYS), scalar(random)),
        2 => format!("- {}\n- {}", scalar(random), scalar(random)),
        3 | 4 => {
            let text = node(3, random);
            if random.chance(50) { format!("x: &x {{z: 1}}\n{text}") } else { text }
        }
        5 => damaged(&node(2, random), random),
        6 | 7 => (0..1 + random.below(10))
            .map(|_| {
                if random.chance(20) {
                    scalar(random)
                } else {
                    (*random.pick(FRAGMENTS)).to_owned()
                }
            })
            .collect(),
        8 => {
            let (first, second) = (node(2, random), node(1, random));
            let between = *random.pick(&[
                "\n---\n",
                "\n...\n",
                "\n...\n---\n",
                "\n--- ",
                "\n---",
                "\n%YAML 1.1\n---\n",
            ]);
            format!("{first}{between}{second}")
        }
        _ => {
            let text = base(random);
            damaged(&text, random)
        }
    }
}

/// Returns the policy of a seed.
pub fn case(seed: u64, bases: &[String]) -> Case {
    let mut random = Random::new(seed ^ 0x79_61_6d_6c);
    let mut case = if seed.is_multiple_of(8) {
        let inputs = (0..TEXTS).map(|_| quoted(&text(&mut random, bases))).collect();
        let queries = vec!["data.p.read".to_owned(), "data.p.valid".to_owned()];
        Case::new(POLICY.to_owned(), queries, inputs)
    } else {
        let block = match random.below(6) {
            0 => text(&mut random, bases),
            1 => format!("custom:\n  x: {}", indented(&text(&mut random, &[]), "  ")),
            2 => format!("custom:\n  {}", indented(&node(2, &mut random), "  ")),
            3 => {
                let field = *random.pick(&[
                    "title",
                    "scope",
                    "entrypoint",
                    "organizations",
                    "authors",
                    "schemas",
                    "compile",
                    "custom",
                    "labels",
                    "foo",
                ]);
                format!("{field}: {}", indented(&node(1, &mut random), "  "))
            }
            _ => {
                let block = *random.pick(BLOCKS);
                damaged(block, &mut random)
            }
        };
        // The differences in metadata that `CONFORMANCE.md` lists.
        let mut block = block;
        for (from, to) in [
            ("inf", "in_f"),
            ("Inf", "In_f"),
            ("INF", "IN_F"),
            ("nan", "na_n"),
            ("NaN", "Na_N"),
            ("18446744073709551615", "1844674407370955161"),
            ("12345678901234567890", "1234567890123456789"),
            ("9223372036854775808", "922337203685477580"),
        ] {
            block = block.replace(from, to);
        }
        let lines: String = block.split('\n').map(|line| format!("# {line}\n")).collect();
        let text = format!("package p\n\n# METADATA\n{lines}r := rego.metadata.rule()\n");
        Case::new(text, vec!["data.p.r".to_owned()], vec!["null".to_owned()])
    };
    case.origin = format!("yaml {seed}");
    case
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
