//! The shapes of values: those of conftest, and where they differ.

use std::path::Path;

use proptest::prelude::*;
use rego::Value;
use rego_platform_formats::{Format, MAX_BYTES};

fn read(format: &str, text: &str) -> Result<String, String> {
    let read = Format::named(format).unwrap().read(text);
    read.map(|value| value.to_json())
        .map_err(|own| format!("{}:{}: {}", own.line, own.column, own.message))
}

/// Each file has beside it what `conftest parse` (0.68) writes for it.
#[test]
fn files_have_the_values_that_conftest_gives_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            continue;
        }
        let format = Format::of(&path).unwrap();
        let value = format.read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let expected = std::fs::read_to_string(format!("{}.json", path.display())).unwrap();
        let mut expected = Value::from_json(&expected).unwrap();
        if format.name() == "dockerfile" {
            // An array of documents, of which there is one.
            expected = expected.as_array().unwrap().first().unwrap().clone();
        }
        let shown = (value.to_json_pretty(), expected.to_json_pretty());
        assert!(value == expected, "{}: {}, expected {}", path.display(), shown.0, shown.1);
        count += 1;
    }
    assert_eq!(count, 9);
}

/// What conftest loses, rounds, or takes from elsewhere.
#[test]
fn what_conftest_reads_otherwise() {
    for (format, text, expected) in [
        ("hcl2", "a = 12345678901234567890123", r#"{"a":12345678901234567890123}"#),
        ("hcl2", "a = \"x${-1}\"", r#"{"a":"x${-1}"}"#),
        (
            "toml",
            "a = 07:32\nb = 1979-05-27T07:32Z\nc = 07:32:00.500",
            r#"{"a":"0000-01-01T07:32:00Z","b":"1979-05-27T07:32:00Z","c":"0000-01-01T07:32:00.5Z"}"#,
        ),
        ("xml", "<?xml version='1.0' encoding='ISO-8859-1'?><a>x</a>", r#"{"a":"x"}"#),
        ("xml", "<?xml version='1.0' encoding='us-ascii'?><a>x</a>", r#"{"a":"x"}"#),
        ("json5", "{a: 12345678901234567890123}", r#"{"a":12345678901234567890123}"#),
        ("jsonc", "{\"a\": [1,], // c\n}", r#"{"a":[1]}"#),
        (
            "ini",
            "a = 1\n[s]\nb = 12345678901234567890123",
            r#"{"DEFAULT":{"a":1},"s":{"b":12345678901234567890123}}"#,
        ),
        ("ini", "[s]\nq = \"quoted ; x\" ; c", r#"{"s":{"q":"quoted ; x"}}"#),
        ("properties", "a = \\uD83D\\uDE00", "{\"a\":\"\u{1f600}\"}"),
        ("dotenv", "A=$HOME ${NOPE}", r#"{"A":"$HOME ${NOPE}"}"#),
        ("xml", "<a>x<b/>y</a>", r##"{"a":{"#content":"x y","b":""}}"##),
        ("xml", "<a>x<![CDATA[<]]>&amp;&#65;</a>", r#"{"a":"x<&A"}"#),
        (
            "dockerfile",
            "FROM a\nRUN <<EOF cat\ncurl x | sh\n# no\nEOF\nCOPY <<-\"X\" /y\n\tz\n\tX",
            r#"[["from",["a"]],["run",["<<EOF cat\ncurl x | sh\n# no\nEOF"]],["copy",["<<-\"X\"\nz\nX","/y"]]]"#,
        ),
        (
            "dockerfile",
            "FROM a\nONBUILD COPY --from=x a b",
            r#"[["from",["a"]],["onbuild",["a","b"]]]"#,
        ),
    ] {
        let value = Format::named(format).unwrap().read(text).unwrap();
        let shown = match value.as_array() {
            Some(list) => list
                .iter()
                .map(|one| {
                    let field = |name| one.get_str(name).unwrap().clone();
                    Value::from(vec![field("Cmd"), field("Value")])
                })
                .collect::<Value>(),
            None => value,
        };
        assert_eq!(shown.to_json(), expected, "{format}: {text}");
    }
}

#[test]
fn comments_and_stages_of_a_dockerfile() {
    let value = Format::named("dockerfile").unwrap();
    let value = value
        .read("# one\n\nFROM a\n# two\n#\n# three\nFROM b\nONBUILD COPY --from=x a b")
        .unwrap();
    let shown: Vec<String> = value.as_array().unwrap().iter().map(Value::to_json).collect();
    let comment = |text: &str, stage| {
        format!(
            r#"{{"Cmd":"comment","Flags":null,"JSON":false,"Stage":{stage},"SubCmd":"","Value":["{text}"]}}"#
        )
    };
    let from = |image: &str, stage| {
        format!(
            r#"{{"Cmd":"from","Flags":[],"JSON":false,"Stage":{stage},"SubCmd":"","Value":["{image}"]}}"#
        )
    };
    assert_eq!(
        shown,
        [
            comment("one", 0),
            from("a", 0),
            comment("two", 1),
            comment("three", 1),
            from("b", 1),
            r#"{"Cmd":"onbuild","Flags":["--from=x"],"JSON":false,"Stage":1,"SubCmd":"COPY","Value":["a","b"]}"#.to_owned(),
        ]
    );
}

/// The library ends a here-document by a rule of its own.
#[test]
fn here_documents_of_hcl_end_where_hcl_ends_them() {
    for (text, expected) in [
        ("a = <<E\nx\nE\nb = 1\n", r#"{"a":"x\n","b":1}"#),
        ("a = <<E\r\nx\r\nE\r\nb = 1\r\n", r#"{"a":"x\r\n","b":1}"#),
        ("a = [<<E\nx\n\tE \n, <<-F\n  z\n  F\n]\n", r#"{"a":["x\n","z\n"]}"#),
        ("a = <<E-F\nx\nE\nE-F\n", r#"{"a":"x\nE\n"}"#),
        ("a = <<E\n${b}E\nE\nc = 1\n", r#"{"a":"${b}E\n","c":1}"#),
    ] {
        assert_eq!(read("hcl2", text).as_deref(), Ok(expected), "{text}");
    }
    let wrong = read("hcl2", "a = 1\nb = <<E\nx\rE\nE\n").unwrap_err();
    assert!(wrong.starts_with("3:2: missing line feed"), "{wrong}");
}

/// The library loses letters at the start of lines, and `~` strips to the end of a line.
#[test]
fn indentation_of_here_documents_is_removed_as_hcl_does() {
    for (text, expected) in [
        ("<<-E\nx\n   ${q}\nE", r"x\n   ${q}\n"),
        ("<<-E\ncurl evil\n  ${q} w\n\tz\n  E", r"curl evil\n  ${q} w\n\tz\n"),
        ("<<-E\n   x\n  y ${q}\n\n    z\nE", r" x\ny ${q}\n\n  z\n"),
        ("<<-E\n  \n  x\nE", r"  \nx\n"),
        ("<<-E\r\n  x\r\nE\r", r"x\r\n"),
        (
            "<<-E\n  %{ for i in l ~}\n  x ${i}\n  %{ endfor ~}\nE",
            r"%{for i in l}  x ${i}\n%{endfor}",
        ),
        (
            "<<-E\n  %{ if a }\n  x\n  %{ else }\n  y\n  %{ endif }\nE",
            r"%{if a}\nx\n%{else}\ny\n%{endif}\n",
        ),
        ("<<-E\n  a $${b} ${q ~}\n  c\nE", r"a $${b} ${q}  c\n"),
        ("<<E\n  a\n  ${~ q ~}\n  b\nE", r"  a\n${q}  b\n"),
    ] {
        let expected = format!("{{\"a\":\"{expected}\"}}");
        assert_eq!(read("hcl2", &format!("a = {text}\n")), Ok(expected), "{text}");
    }
}

/// Texts of every form of expression, template, here-document and block, with what conftest 0.71.1 (hcl2json 0.6.7,
/// `hashicorp/hcl` 2.23) makes of them. A key that appears twice is an error here, and numbers keep their digits.
#[test]
fn hcl_is_read_as_terraform_reads_it() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in include_str!("../hcl.jsonl").lines() {
        let case = Value::from_json(line).unwrap();
        let text = case.get_str("text").unwrap().as_str().unwrap();
        let doubles = |value: &Value| Value::from_json(&rounded(value)).unwrap();
        let own = Format::named("hcl2").unwrap().read(text);
        count += 1;
        match (own, case.get_str("value")) {
            (Ok(own), Some(expected)) if doubles(&own) == doubles(expected) => {}
            (Err(_), None) => {}
            (Err(own), Some(_)) if own.message.contains("appears twice") => {}
            // conftest loses the block.
            (Err(own), Some(_))
                if own.message.contains("inconsistent labels of blocks of the type") => {}
            (own, expected) => wrong.push(format!("{text:?}\n  {own:?}\n  {expected:?}")),
        }
    }
    assert!(wrong.is_empty() && count > 1_000, "{}\n{}", wrong.join("\n"), wrong.len());
}

/// Returns the JSON of a value in which numbers are doubles.
fn rounded(value: &Value) -> String {
    match value {
        Value::Number(_) => format!("{:e}", value.to_json().parse::<f64>().unwrap()),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(rounded).collect::<Vec<_>>().join(","))
        }
        Value::Object(members) => {
            let members =
                members.iter().map(|(key, value)| format!("{}:{}", key.to_json(), rounded(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_json(),
    }
}

/// Words, quotes, escapes and markers of here-documents are those of a build.
#[test]
fn a_dockerfile_is_split_as_buildkit_splits_it() {
    for (text, expected) in [
        ("ENV A='x\\' DEBUG='y'", r#"["A","'x\\'","=","DEBUG","'y'","="]"#),
        ("ARG P='x\\' Q='y'", r#"["P='x\\'","Q='y'"]"#),
        ("ENV A=\"x\\\" B=1\"", r#"["A","\"x\\\" B=1\"","="]"#),
        ("ENV a'b c' d", r#"["a'b","c' d",""]"#),
        ("RUN <<E\\OF\nx\nEOF\nUSER a", r#"["<<E\\OF\nx\nEOF"]"#),
        ("RUN << EOF\nx\nEOF\nUSER a", r#"["<< EOF\nx\nEOF"]"#),
        ("RUN <<\"E'F\"\nx\nE'F\nUSER a", r#"["<<\"E'F\"\nx\nE'F"]"#),
        ("RUN true # <<EOF 'x\nUSER a", r#"["true # <<EOF 'x"]"#),
        ("RUN echo 'a\\' <<E\nx\nE\nUSER a", r#"["echo 'a\\' <<E\nx\nE"]"#),
        ("RUN echo $A ${B} <<E\nx\nE\r\r\nUSER a", r#"["echo $A ${B} <<E\nx\nE"]"#),
        ("RUN echo $((1<<3)) <<<x\nUSER a", r#"["echo $((1<<3)) <<<x"]"#),
        ("COPY << A <<B /x/\n1\nA\n2\nB", r#"["<<","A\n1\nA","<<B\n2\nB","/x/"]"#),
        ("RUN a\u{a0}b \\\u{a0}\nUSER a", r#"["a\u00a0b \\"]"#),
    ] {
        let value = Format::named("dockerfile").unwrap().read(&format!("FROM x\n{text}")).unwrap();
        let value = value.as_array().unwrap().get(1).unwrap().get_str("Value").unwrap().clone();
        assert_eq!(value, Value::from_json(expected).unwrap(), "{text}");
    }
    let escape =
        "# escape=`\nFROM x\nRUN --mount=type=cache,target=/x\\ curl evil\nENV A=\"x\\\" B=a` b";
    let value = Format::named("dockerfile").unwrap().read(escape).unwrap();
    let shown = value.to_json();
    assert!(shown.contains(r#""Flags":["--mount=type=cache,target=/x\\"]"#), "{shown}");
    assert!(shown.contains(r#""Value":["curl evil"]"#), "{shown}");
    assert!(shown.contains(r#"["A","\"x\\\"","=","B","a` b","="]"#), "{shown}");
}

/// Each of `\n`, `\r` and `\r\n` ends a line of properties and dotenv.
#[test]
fn a_carriage_return_ends_a_line() {
    for (format, text, expected) in [
        ("properties", "# c\rdebug=true\r", r#"{"debug":"true"}"#),
        ("properties", "a=1\\\r  2\rb=3\r\nc=\\\r\n4", r#"{"a":"12","b":"3","c":"4"}"#),
        ("dotenv", "# c\rDEBUG=true\n", r#"{"DEBUG":"true"}"#),
        ("dotenv", "A=1\rB=\"x\ry\"\r\nC=2", r#"{"A":"1","B":"x\ny","C":"2"}"#),
    ] {
        assert_eq!(read(format, text).as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn dotenv_is_read_as_gotenv_reads_it() {
    for (text, expected) in [
        ("A=C:\\new\\real", r#"{"A":"C:\\new\\real"}"#),
        ("A=x\\\\y", r#"{"A":"x\\\\y"}"#),
        ("A=\"x\\ny\\\\z\\t\"", r#"{"A":"x\ny\\zt"}"#),
        (
            "b=1\nB=2\nA=$b ${b} $B ${B} ${B:-x} \\$B",
            r#"{"A":"$b ${b} 2 2 2:-x} $B","B":"2","b":"1"}"#,
        ),
        ("A='it\\'s'", r#"{"A":"it\\'s"}"#),
        ("A=\"x\\\"\nB=evil\"", r#"{"A":"x\"\nB=evil"}"#),
        ("A=\"x\"   # c", r#"{"A":"x"}"#),
    ] {
        assert_eq!(read("dotenv", text).as_deref(), Ok(expected), "{text}");
    }
    for (text, expected) in [
        ("A=\"x\\\\\"\nB=\"y\"", "1:1: "),
        ("A='x\\'\nB='y'", "1:1: "),
        ("A=\"x\" # say \"y\"", "unexpected text after the closing"),
        ("A=1\nB:2", "2:1: invalid line: expected `NAME=VALUE`"),
    ] {
        let wrong = read("dotenv", text).unwrap_err();
        assert!(wrong.contains(expected), "{text}: {wrong}");
    }
}

#[test]
fn values_of_ini_end_as_in_conftest() {
    for (text, expected) in [
        ("[s]\na = x ; c\\\n  y # z\nb = 1", r#"{"s":{"a":"x ; cy # z","b":1}}"#),
        ("[s]\na = x\\\n; y\n", r#"{"s":{"a":"x; y"}}"#),
        ("[s]\na = x\\\n\nb = 1", r#"{"s":{"a":"x","b":1}}"#),
        ("[s]\na = `x\r\ny`\r\nb = 1", r#"{"s":{"a":"x\r\ny","b":1}}"#),
        ("[s]\n\" k \" = 1", r#"{"s":{"k":1}}"#),
    ] {
        assert_eq!(read("ini", text).as_deref(), Ok(expected), "{text}");
    }
    for (text, expected) in [
        ("; c\rpassword=evil", "1:4: missing line feed after a carriage return"),
        ("[s]\na = `x` ; `y`", "2:1: unexpected text after the"),
        ("[s] ; ]", "1:1: unexpected text after the"),
    ] {
        let wrong = read("ini", text).unwrap_err();
        assert!(wrong.starts_with(expected), "{text}: {wrong}");
    }
}

#[test]
fn jsonc_is_json_with_comments_and_commas_at_the_end() {
    for (text, expected) in [
        (
            "{\"a\": [1, /* ] */ 2,], // \u{2028} \"b\": 1,\n \"c\": \"//\\\"/*\",}",
            r#"{"a":[1,2],"c":"//\"/*"}"#,
        ),
        ("// é\r\n[{}, [] , /**/ ]", "[{},[]]"),
        ("[1 /* \n */ , // x\n ]", "[1]"),
        ("12345678901234567890123", "12345678901234567890123"),
    ] {
        assert_eq!(read("jsonc", text).as_deref(), Ok(expected), "{text}");
    }
    for (text, expected) in [
        ("{'a': 1}", "1:2: invalid JSON"),
        ("{a: 1}", "1:2: invalid JSON"),
        ("[,]", "1:2: invalid JSON"),
        ("[1,,]", "1:4: invalid JSON"),
        ("{\"a\":,}", "1:6: invalid JSON"),
        ("[/* é\n */ 0x1]", "2:"),
        ("[+1]", "1:2: invalid JSON"),
        ("[1] ,", "1:5: invalid JSON"),
        ("{} {}", "1:4: invalid JSON"),
        ("{}\n /* x", "2:2: missing `*/` of a comment"),
        ("{\"a\": 1, # x\n}", "1:10: invalid JSON"),
        ("{\"a\": 1, \"\\u0061\": 2}", "appears twice"),
        ("1 // x\r2", "1:7: missing line feed"),
        ("[\"a\nb\"]", "invalid JSON"),
        ("[\u{a0}1]", "1:2: invalid JSON"),
    ] {
        let wrong = read("jsonc", text).unwrap_err();
        assert!(wrong.contains(expected), "{text}: {wrong}");
    }
}

#[test]
fn xml_that_isnt_well_formed_is_refused() {
    for text in [
        "<a><-id>x</-id></a>",
        "<1a/>",
        "<a:b:c/>",
        "<a<a/>",
        "<a b='1'c='2'/>",
        "<a b='<'/>",
        "<a -b='1'/>",
        "<a>]]></a>",
        "<a>\u{1}</a>",
        "<a>&#1;</a>",
        "<a b='&#1;'/>",
        "<a><!DOCTYPE a></a>",
        "<a/><!DOCTYPE a>",
        "<!DOCTYPE a><!DOCTYPE a><a/>",
        "<a><!-- -- --></a>",
        " <?xml version='1.0'?><a/>",
        "<a><?XML x?></a>",
        "<a><?-x?></a>",
        "<a/><![CDATA[ ]]>",
        "&#32;<a/>",
    ] {
        assert!(read("xml", text).is_err(), "{text}");
    }
    let text = "<?xml version='1.0'?>\n<!DOCTYPE a>\n<?x y?><!-- c -->\n<a.b-c p:é = '1'  d=\">\"\n>]]&gt;</a.b-c>\n";
    assert_eq!(read("xml", text).unwrap(), r##"{"a.b-c":{"#content":"]]>","-d":">","-é":"1"}}"##);
}

#[test]
fn json5_has_its_own_ways_to_write_values() {
    let text = "\u{feff}// c\n{a: +1, $b_ü: .5, 'c': -0xFF, d: 5., e: [1, 2,], /* x */ \"f\": 'it\\'s \\\n on\\x41\\u00e9\\0', 'g': 1E+2, \"\": null}";
    let expected =
        r#"{"":null,"$b_ü":0.5,"a":1,"c":-255,"d":5,"e":[1,2],"f":"it's  onAé\u0000","g":1e+2}"#;
    assert_eq!(read("json5", text).unwrap(), expected);
}

#[test]
fn a_text_with_two_readings_is_an_error_with_its_line() {
    for (format, text, expected) in [
        ("toml", "a = 1\na = 2", "2:1: invalid TOML: duplicate key"),
        ("toml", "a = 9223372036854775808", "1:5: invalid TOML"),
        ("toml", "a = inf", "1:1: no equivalent of the number in JSON: `inf`"),
        ("toml", "a = [", "1:6: invalid TOML"),
        ("toml", "\u{feff}\u{feff}a = 1", "1:1: unexpected second byte order mark"),
        ("hcl2", "a = 1\na = 2", "2:1: "),
        ("hcl2", "a = {\n  b = 1\n  \"b\" = 2\n}", "1:1: the key `b` appears twice"),
        ("hcl2", "a {}\na = 2", "2:1: the key `a` appears twice"),
        ("hcl2", "a {}\na \"b\" {}", "2:1: inconsistent labels of blocks of the type `a`"),
        ("hcl2", "a \"b\" {}\na {}", "2:1: inconsistent labels of blocks of the type `a`"),
        ("hcl2", "a = 1 +", "1:8: invalid HCL: expected an expression, found the end"),
        ("ini", "[s]\na = 1\n[t]\n[s]\na = 2", "5:1: the key `a` appears twice"),
        ("ini", "[s\na=1", "1:1: missing `]` after the name of a section"),
        ("ini", "[s] x\na=1", "1:1: unexpected text after the `]`"),
        ("ini", "[s]\nnothing", "2:1: invalid line: expected a section"),
        ("ini", "[s]\na = \"\"\"x\ny", "2:1: missing closing"),
        ("properties", "a=1\na : 2", "2:1: the key `a` appears twice"),
        ("properties", "=1", "1:1: missing key"),
        ("properties", "a=\\u12", "1:1: expected four hexadecimal digits after `\\u`"),
        ("properties", "a=\\ud800", "1:1: incomplete surrogate pair: `\\u`"),
        ("dotenv", "A=1\nA=2", "2:1: the key `A` appears twice"),
        ("dotenv", "export A", "1:1: invalid line: expected `NAME=VALUE`"),
        ("dotenv", "A=1\nB-C=1", "2:1: invalid line: expected `NAME=VALUE`"),
        ("dotenv", "A=\"x", "1:1: missing closing"),
        ("dotenv", "A='x'y", "1:1: unexpected text after the closing `'`"),
        ("xml", "<a>\n<b></a>", "2:4: invalid XML"),
        ("xml", "<a>", "1:4: unterminated element"),
        ("xml", "<a/><b/>", "1:5: unexpected second root element"),
        ("xml", "<a/>x", "1:5: unexpected text outside of the element"),
        ("xml", "<a b='1' b='2'/>", "1:1: "),
        (
            "xml",
            "<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>",
            "1:1: unsupported document type with declarations",
        ),
        (
            "xml",
            "<!DOCTYPE a SYSTEM 'x'><a>&b;</a>",
            "unknown entity `&b;`: expected one of the five of XML",
        ),
        ("xml", "<a b='&c;'/>", "1:1: invalid attribute"),
        ("xml", "<?xml version='1.0' encoding='UTF-16'?><a/>", "save the file as UTF-8"),
        ("xml", "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>", "save the file as UTF-8"),
        ("xml", "<?xml version='1.0' encoding='ebcdic-cp-us'?><a/>", "save the file as UTF-8"),
        ("xml", "", "no element"),
        ("json5", "{a: 1, 'a': 2}", "1:14: the key `a` appears twice"),
        ("json5", "[,]", "1:2: expected a value"),
        ("json5", "[1 2]", "1:4: expected `,` or `]`"),
        ("json5", "{a}", "expected `:`"),
        ("json5", "{: 1}", "expected a key"),
        ("json5", "[NaN]", "`Infinity` and `NaN` have no equivalent"),
        ("json5", "01", "invalid number"),
        ("json5", "1 // x\n2", "2:1: unexpected text after the value"),
        ("json5", "/* x", "missing `*/` of a comment"),
        ("json5", "'a\nb'", "missing closing quote of a string"),
        ("dockerfile", "# only a comment", "no instruction"),
        ("dockerfile", "FROM a\nFOO b", "2:1: unknown instruction `FOO`"),
        (
            "dockerfile",
            "FROM a b",
            "1:1: invalid arguments of `FROM`: expected `IMAGE` or `IMAGE AS NAME`",
        ),
        ("dockerfile", "FROM a\nRUN", "2:1: missing argument of `RUN`"),
        (
            "dockerfile",
            "FROM a\nCOPY b",
            "2:1: invalid arguments of `COPY`: expected a source and a destination",
        ),
        (
            "dockerfile",
            "FROM a\nRUN [\"a\", 1]",
            "2:1: invalid arguments: expected a JSON array of strings",
        ),
        ("dockerfile", "FROM a\nSHELL a", "2:1: invalid arguments: expected a JSON array"),
        ("dockerfile", "FROM a\nENV a", "2:1: missing value after a name"),
        ("dockerfile", "FROM a\nENV a=b c", "2:1: missing `=` in `c`"),
        ("dockerfile", "FROM a\n\nRUN <<E\nx", "3:1: unterminated here-document `E`"),
        ("dockerfile", "FROM a\nRUN echo ${A:-b} <<E\nx\nE", "2:1: ambiguous here-documents"),
        ("dockerfile", "FROM a\nUSER\u{a0}root", "unknown instruction"),
        ("dockerfile", "FROM a\nRUN --mount=é x", "2:1: invalid flag `--mount=é`"),
        ("dockerfile", "#escape=`\n# escape=`\nFROM a", "2:1: duplicate directive `escape`"),
        ("dockerfile", "# escape=x\nFROM a", "1:1: invalid directive `escape`: expected"),
        ("dockerfile", "FROM a\nONBUILD FROM b", "2:1: unexpected `FROM` after `ONBUILD`"),
    ] {
        let wrong = read(format, text).unwrap_err();
        assert!(wrong.contains(expected), "{format}: {text:?}: {wrong}");
    }
}

/// Nesting, repetition and expansion, each as far as the size of a text allows.
#[test]
fn hostile_texts_end_in_an_error_or_a_value() {
    let n = 200_000;
    let doubled: Vec<_> = (1..40).map(|i| format!("A{i}=$A{0}$A{0}\n", i - 1)).collect();
    let doubled = doubled.concat();
    for (format, text) in [
        ("json5", "[".repeat(n)),
        ("json5", "{a:".repeat(n)),
        ("json5", "/*".repeat(n)),
        ("xml", "<a>".repeat(n)),
        ("xml", format!("<a {}/>", "b:c='' ".repeat(n))),
        ("xml", format!("<!DOCTYPE a [{}", "<!ENTITY a 'b'>".repeat(n))),
        ("toml", format!("a = {}", "[".repeat(n))),
        ("toml", format!("a = {}", "{a=".repeat(n))),
        ("toml", format!("{}a = 1", "a.".repeat(n))),
        ("toml", format!("[{}a]", "a.".repeat(n))),
        ("hcl2", format!("a = {}", "[".repeat(n))),
        ("hcl2", format!("a = {}", "(".repeat(n))),
        ("hcl2", format!("a = {}", "{a=".repeat(n))),
        ("hcl2", format!("a = {}1", "!".repeat(n))),
        ("hcl2", format!("a = {}1", "-".repeat(n))),
        ("hcl2", format!("a = {}", "x ? y : ".repeat(n))),
        ("hcl2", format!("a = {}1", "1 + ".repeat(n))),
        ("hcl2", format!("a = {}", "\"${".repeat(n))),
        ("hcl2", format!("a = \"{}\"", "%{ if a }".repeat(n))),
        ("hcl2", format!("a = {}", "f(".repeat(n))),
        ("hcl2", format!("a = x{}", "[x".repeat(n))),
        ("hcl2", "a {\n".repeat(n)),
        ("hcl2", format!("a = {}", "[for a in ".repeat(n))),
        ("dotenv", format!("A0=0123456789\n{doubled}")),
        ("dotenv", format!("A={}\nB={}", "x".repeat(1 << 20), "$A".repeat(99))),
        ("dockerfile", format!("FROM a\nRUN {}", "<<A ".repeat(n))),
        ("dockerfile", format!("FROM a\n{}RUN x", "ONBUILD ".repeat(n))),
        ("dockerfile", format!("FROM a\nRUN {}", "\\\n".repeat(n))),
        ("properties", "a\\\n".repeat(n)),
    ] {
        let read = Format::named(format).unwrap().read(&text);
        let begins: String = text.chars().take(30).collect();
        match (format, read) {
            ("properties", Ok(_)) => {}
            (_, Ok(value)) => assert!(value.to_json().len() < MAX_BYTES, "{format}: {begins}"),
            (_, Err(problem)) => assert!(!problem.message.is_empty(), "{format}: {begins}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_a_value_or_an_error(
        text in proptest::collection::vec(prop_oneof![
            Just("\n"), Just(" "), Just("a"), Just("="), Just(":"), Just("\""), Just("'"), Just("\\"),
            Just("["), Just("]"), Just("{"), Just("}"), Just("${"), Just("%{"), Just("<"), Just("</a>"),
            Just("<a>"), Just("&"), Just(";"), Just("#"), Just("//"), Just("/*"), Just("<<E"), Just("E"),
            Just("FROM "), Just("RUN "), Just("--"), Just("é"), Just("\u{1f600}"), Just("\r"), Just("\t"),
            Just("`"), Just("\"\"\""), Just("1"), Just("."), Just("\\u"), Just("export "), Just(","),
            Just("if "), Just("~"), Just("<![CDATA["), Just("]]>"), Just("<!"), Just("<?"), Just("\u{2028}"),
        ], 0..24)
    ) {
        let text = text.concat();
        for format in Format::all() {
            let lines = text.split('\n').count();
            match format.read(&text) {
                Ok(value) => prop_assert!(value.is_collection() || format.name().starts_with("json")),
                Err(problem) => {
                    prop_assert!((1..=lines).contains(&problem.line), "{}: {:?}", format.name(), problem);
                }
            }
        }
    }
}
