//! Every small program: bodies of one and two statements over few variables, in every position that
//! takes a body; bodies of three by sampling.
//!
//! A program has the same body in all positions, each in a rule of its own. If a position doesn't
//! accept the body (an unsafe variable in a head, for example), the program doesn't compile, and
//! OPA's refusal is compared; then each position is tried alone.

use super::case::Case;
use super::random::Random;

/// The statements, and the variables that they bind.
const STATEMENTS: &[(&str, &str)] = &[
    // Binding.
    ("x := input.a", "x"),
    ("x = input.a", "x"),
    ("input.b = x", "x"),
    ("y := x", "y"),
    ("y = x", "y"),
    ("x := 1", "x"),
    ("y := count(input.a)", "y"),
    ("y = count(x)", "y"),
    ("y := svc.ask(x)", "y"),
    ("x = svc.pick(input.s)", "x"),
    ("x := svc.fail(1)", "x"),
    ("x := svc.none(1)", "x"),
    ("svc.ask(input.a, x)", "x"),
    ("plus(x, 1, y)", "y"),
    ("x := r", "x"),
    ("x = p[y]", "x y"),
    ("y := f(x)", "y"),
    ("x := [z | z := input.l[_]]", "x"),
    ("x := {z | some z in input.l; z != y}", "x"),
    ("x = {k: v | some k, v in input.o}", "x"),
    ("x := [q | q := y]", "x"),
    // Iteration.
    ("some x in input.l", "x"),
    ("some y in input.l", "y"),
    ("some x, y in input.o", "x y"),
    ("some [x, y] in input.g", "x y"),
    ("some {\"n\": x} in input.u", "x"),
    ("some {\"n\": x, \"m\": y} in input.u", "x y"),
    ("x = input.l[_]", "x"),
    ("x := input.l[y]", "x y"),
    ("y = input.l[x]", "x y"),
    ("input.o[x] = y", "x y"),
    ("input.l[x]", "x"),
    ("input.g[x][y]", "x y"),
    ("input.g[x][x]", "x"),
    ("some x; input.l[x] = 2", "x"),
    ("s[x]", "x"),
    ("o[x] = y", "x y"),
    ("x := s[_]", "x"),
    ("data.d.o[x] = y", "x y"),
    ("walk(input.o, [x, y])", "x y"),
    ("walk(input.g, [_, x])", "x"),
    ("[x, y] = input.l", "x y"),
    ("[x, 2] = [1, y]", "x y"),
    ("[x, y] = input.g[_]", "x y"),
    ("{\"n\": x} = input.u[_]", "x"),
    ("{\"k\": x, \"j\": [y]} = {\"k\": input.a, \"j\": [input.b]}", "x y"),
    ("[x, x] = input.l", "x"),
    // Tests.
    ("x == 1", ""),
    ("x != y", ""),
    ("x = y", ""),
    ("x < 2", ""),
    ("x", ""),
    ("input.a", ""),
    ("input.f", ""),
    ("input.z == null", ""),
    ("true", ""),
    ("false", ""),
    ("null", ""),
    ("x in input.l", ""),
    ("x, y in input.o", ""),
    ("input.l[_] == x", ""),
    ("input.u[_].n == x", ""),
    ("input.l[x] == y", ""),
    ("startswith(x, \"a\")", ""),
    ("startswith(input.a, \"a\")", ""),
    ("is_string(x)", ""),
    ("count(x) > 0", ""),
    ("x + y > 2", ""),
    ("x / input.e == 1", ""),
    ("1 / 0 == 1", ""),
    ("to_number(x) == 1", ""),
    ("[x, y] == [1, 2]", ""),
    ("r == x", ""),
    ("b", ""),
    ("s[1]", ""),
    ("s[\"a\"]", ""),
    ("o.a == x", ""),
    ("f(x) == 2", ""),
    ("f(1)", ""),
    ("g(x)", ""),
    ("g(input.a)", ""),
    ("c(x) == y", ""),
    ("regex.match(x, \"a\")", ""),
    ("object.get(input.o, x, 0) == 1", ""),
    ("$\"{x}\" == \"1\"", ""),
    // Negation and quantification.
    ("not x", ""),
    ("not x == 1", ""),
    ("not input.nope", ""),
    ("not input.l[x]", ""),
    ("not s[x]", ""),
    ("not f(x)", ""),
    ("not g(x)", ""),
    ("not startswith(x, \"a\")", ""),
    ("not svc.ask(x)", ""),
    ("not svc.fail(x)", ""),
    ("not svc.none(x)", ""),
    ("not x in input.l", ""),
    ("not r", ""),
    ("every z in input.l { z > 0 }", ""),
    ("every z in input.l { z != x }", ""),
    ("every k, z in input.o { z == x }", ""),
    ("every z in x { z }", ""),
    ("every z in input.l { svc.ask(z) }", ""),
    ("every z in input.l { some y in input.l; y > z }", ""),
    ("every x in input.l { x = y }", ""),
    ("every z in [] { false }", ""),
    ("every z in input.nope { z }", ""),
    ("every z in svc.ask(input.l) { z == y }", ""),
    // Host calls and prints.
    ("svc.ask(x)", ""),
    ("svc.ask(false)", ""),
    ("svc.fail(x)", ""),
    ("svc.none(x)", ""),
    ("svc.num(x, y) > 100", ""),
    ("svc.pick(input.s)", ""),
    ("print(x)", ""),
    ("print(x, y, input.nope)", ""),
    ("print(svc.ask(x))", ""),
    ("print(input.l[y])", ""),
    // Comprehensions within.
    ("count([1 | input.l[_] == x]) > 0", ""),
    ("[z | z = input.l[_]; z > x] == [2]", ""),
    ("{z | z = input.l[y]} == {1}", ""),
    ("x in {z | some z in input.l}", ""),
    // Two or more together.
    (
        "some x in input.l; some y in input.l; z := [[y, w] | some w in input.l; w == x]; z == [[y, x]]",
        "x y",
    ),
    ("some x in input.l; [w | some w in input.l; print(\"in\", w); w == x] != []", "x"),
    ("some x in {input.b, input.a}; svc.ask(x)", "x"),
    ("some q in {y, x}; svc.ask(q)", ""),
    ("some q, p in {y: 1, x: 2}; svc.ask(q)", ""),
    ("some x in input.l; y := 7; svc.ask(x)", "x y"),
    ("some x, y in {input.b: 1, input.a: 2}; print(x)", "x y"),
    // Data whose keys are numbers, rules whose paths have different lengths.
    ("x := data.d.n[1]", "x"),
    ("data.d.n[x] = y", "x y"),
    ("data.d.o.c[\"0\"] == x", ""),
    ("m[x] = y", "x y"),
    ("m[input.s].n", ""),
    ("w.z[_][1]; w.z[_][x]", "x"),
    // The number of calls.
    ("k[x]; k[x]", ""),
    ("k[1]; k[x]; k[_]", ""),
    ("j[x]; j[x] == y", ""),
    ("x = [z | z := svc.ask(1)]", ""),
    ("svc.ask(x) = {z: 1 | z := svc.ask(2)}", ""),
    ("data.d.o = [z | z := svc.ask(1)]", ""),
    ("every z in [1, 2] { [w | some w in input.l; print(\"w\", z); w == x] != [z] }", ""),
    ("two(1, x) == two(1, y)", ""),
    ("no(x)", ""),
    ("not no(x)", ""),
    ("[two(1, x), two(1, y), two(x, 1)] == [[1, x], [1, y], [x, 1]]", ""),
    ("svc.num(svc.ask(x), svc.ask(2)) > 0", ""),
    ("svc.ask(x) == svc.ask(y)", ""),
    ("e(x) == 1", ""),
    ("e(input.a)", ""),
    ("i == x", ""),
    ("h(x)", ""),
    ("not h(x)", ""),
    ("l", ""),
    ("n == x", ""),
    ("fn(x) == y", ""),
    ("y := fn(x)", "y"),
    ("x := u.b", "x"),
    ("u[x] = y", "x y"),
    ("{y, x}[_] == svc.ask(x)", ""),
    ("$\"{input.nope}, {x}\" == \"<undefined>, 1\"", ""),
    ("print($\"{input.o[y]} of {x}\")", ""),
    // Syntax of `rego.v2`.
    ("x == 1 and input.l[_] == x", ""),
    ("x == 1 and input.nope", ""),
    ("svc.none(x) or svc.ask(x)", ""),
    ("svc.ask(x) or svc.ask(2)", ""),
    ("not { input.l[_] == x; svc.ask(x) }", ""),
    ("not { input.l[_]; svc.none(svc.ask(x)) }", ""),
    ("not { input.l[_]; svc.ask(x) }", ""),
    ("{1: z | some z in input.l} != {}", ""),
    // `with` by a variable that gets its value later.
    ("[z | z = input.l[_]; z = y] == [y] with input.l as [x]; x = input.b", "x"),
    ("{k | input.o[k] = y} != {} with input.o as {\"k\": x}; x = 1", "x"),
    ("[1 | input.l[0] = y; input.l[1] = 7] == [] with input.l as [x, x]; svc.ask(y, x)", "x"),
    // Types, templates, annotations.
    ("{1 | input.l[_] == x} == {\"a\"}", ""),
    ("[1, x] = [y, \"a\", 2]", ""),
    ("{\"k\": 1, \"j\": x} == {\"k\": \"a\", \"j\": y}", ""),
    ("$\"{x with input.a as 3} {r with input.a as 4}\" != \"1\"", ""),
    ("print($\"{r with input.a as 4}\")", ""),
    ("x := rego.metadata.chain()", "x"),
    ("about == x", ""),
    ("x := data.small.within.titles", "x"),
    ("x := {1: w | some w in [1, 1.0]}", "x"),
];

/// Modifiers, added to the first statement in one of the positions.
const MODIFIERS: &[&str] = &[
    "with input as {\"a\": 1, \"l\": [1], \"o\": {\"q\": 1}, \"b\": \"a\", \"s\": \"b\"}",
    "with input.a as 2",
    "with input.l as [x]",
    "with data.small.r as 1",
    "with data.small.s as {1, \"a\"}",
    "with data.small.o as {\"a\": 3}",
    "with data.small.f as 2",
    "with data.small.f as data.small.c",
    "with data.d.o as {\"z\": 9}",
    "with svc.ask as 7",
    "with svc.fail as svc.ask",
    "with count as 1",
    "with startswith as endswith",
    "with input.l as [input.b, 1]",
    "with input.l as [svc.ask(1), 2]",
    "with input.o as {k: v | some k, v in input.o; svc.ask(k)}",
    "with data.small.r as input.b",
    "with svc.fail as svc.ask with svc.ask as 7",
    "with svc.none as data.small.h with svc.ask as 7",
    "with input.l as data.small.k",
    "with input.l as [x, x, x]",
    "with svc.ask as data.small.f with data.small.f as data.small.c",
    "with data.d as {\"n\": {\"1\": 6}, \"o\": {}}",
    "with data.small.k as {1}",
];

/// Keywords that v1 has only if they are imported.
const IMPORTS: &str =
    "import future.keywords.and\nimport future.keywords.not\nimport future.keywords.or\n";

/// Annotations of the package.
const ABOUT: &str = "# METADATA\n# title: outer\n# scope: subpackages\n\n# METADATA\n# title: inner\n# scope: package\n";

/// A package within the first one.
const WITHIN: &str = "# METADATA\n# title: innermost\n# scope: subpackages\npackage small.within\n\ntitles := [x | x := rego.metadata.chain()[_].annotations.title]\n";

/// Rules that bodies refer to.
const FIXED: &str = r#"r := input.a

b if input.f == false

s contains v if some v in input.l

s contains "a" if input.t

o[k] := v if some k, v in input.o

o.a := 1

p["q"] := input.a

p[k] := k if some k in ["u", "w"]

f(v) := v + 1

f(v) := "s" if is_string(v)

g(v) if v == 1

g(v) if {
	svc.ask(v)
	v == 2
}

c(1) := 2

c(v) := 3 if v != 1

k contains v if {
	some v in input.l
	svc.ask(v)
}

k contains 1 if print("k")

j[v] := 1 if {
	some v in input.l
	svc.ask(v)
}

two(a, b) := [a, b]

no(v) := v != 1

e(v) := v if {
	v == 1
	svc.ask("e1")
}

e(v) := v if {
	v != 0
	svc.ask("e2")
}

e(1) := 1 if svc.ask("e3")

i := v if {
	input.s == "a"
	v := svc.ask(1)
}

i := v if {
	v := svc.ask(1)
	print("i")
}

i := v if {
	input.a == 1
	v := svc.ask(input.a)
}

h(v) if {
	some w in input.l
	once(w)
	svc.ask(w)
	w != v
}

once(v) := v if {
	some w in [1, 2]
	svc.ask([v, w])
}

l := v if {
	print("l1")
	input.a in input.l
	v := svc.ask(1)
}

# METADATA
# title: one

# METADATA
# title: two
about := rego.metadata.rule().title

default u.b := 1

u.b := 2 if input.s == "a"

u.c := 3 if input.s == "c"

n := 2 if {
	svc.ask("n1")
	input.s == "a"
}

n := 1 if {
	svc.ask("n2")
	input.s == "a"
	input.a == 2
} else := 2 if {
	svc.ask("n3")
	input.s == "a"
	input.b == 2
}

n := v if {
	svc.ask("n4")
	input.a == "a"
	input.s == "a"
	v := svc.ask(2)
}

fn(v) := 1 if {
	v == 1
	svc.ask("fn1")
} else := 2 if {
	svc.ask("fn2")
}

l := v if {
	print("l2")
	data.d.o[input.s]
	v := svc.ask(1)
}

m[k] := {"v": v} if some k, v in input.o

w[t][k][v] := svc.ask(k) if {
	some t in ["z"]
	some k, v in input.o
}

m[k].n := 1 if some k in [input.s, "n"]
"#;

/// Inputs with values of every type, empty, missing and failing ones.
pub const INPUTS: &[&str] = &[
    r#"{"a":1,"b":2,"s":"a","l":[1,2],"o":{"a":1,"b":2},"g":[[1,2],[2,1],[1,2,3]],"u":[{"n":1},{"n":2,"m":3},{"n":"a"}],"t":true,"f":false,"z":null,"e":0}"#,
    r#"{"a":"a","b":"a","s":"c","l":["a","b"],"o":{"a":"a"},"g":[],"u":[],"t":false,"f":true,"e":1}"#,
    r#"{"a":[1],"b":{"a":[1]},"s":"b","l":[],"o":{},"g":{"x":{"x":[1]}},"u":{"k":{"n":[1]}},"z":0}"#,
    r"{}",
];

/// Positions of a body: the rule made from it and the variables that it binds. `@` stands for
/// statements separated by `; `, `#` for a term of the variables.
const PLACES: &[(&str, &str)] = &[
    ("t_complete", "t_complete := # if { @ }"),
    ("t_true", "t_true if { @ }"),
    ("t_set", "t_set contains # if { @ }"),
    ("t_object", "t_object[key] := # if { key := \"k\"; @ }"),
    ("t_keys", "t_keys[#] := 1 if { @ }"),
    ("t_tree", "t_tree[#].v contains 1 if { @ }"),
    ("t_array", "t_array := [# | @]"),
    ("t_sets", "t_sets := {# | @}"),
    ("t_objects", "t_objects := {#: # | @}"),
    ("t_every", "t_every if { every q in [1, 2] { @; q > 0 } }"),
    ("t_domain", "t_domain if { every q in [# | @] { q } }"),
    ("t_function", "t_arg(a) := # if { @; a == 1 }\n\nt_function := t_arg(1)"),
    ("t_truth", "t_holds(a) if { @; a > 0 }\n\nt_truth if { some n in [0, 1, 2]; t_holds(n) }"),
    ("t_not", "t_helper if { @ }\n\nt_not if not t_helper"),
    ("t_else", "t_else := # if { @ } else := 2 if { input.f } else := 3"),
    ("t_default", "default t_default := \"none\"\n\nt_default := # if { @ }"),
    ("t_twice", "t_twice := # if { @ }\n\nt_twice := 1 if { @ }"),
    ("t_then", "t_given := # if { @ }\n\nt_then if { t_given; print(\"then\") }"),
    (
        "t_called",
        "t_gives(a) := # if { @; a == 1 }\n\nt_called if { t_gives(1); print(\"called\") }",
    ),
    ("t_count", "t_count := count({# | @})"),
    ("t_outer", "t_outer := [y | y := input.b; count([# | @]) >= 0]"),
];

/// Returns the cases: all bodies of one and of two statements (every `every`th of them), and as
/// many of three.
pub fn cases(every: u64) -> impl Iterator<Item = Case> + Send {
    let every = every.max(1);
    let count = STATEMENTS.len() as u64;
    let ones = (0..count).map(|at| vec![at]);
    let twos = (0..count * count).map(move |at| vec![at / count, at % count]);
    let mut random = Random::new(3);
    let threes =
        (0..count * count / 4).map(move |_| (0..3).map(|_| random.next() % count).collect());
    let all = ones.chain(twos).chain(threes).enumerate();
    all.filter(move |(index, body): &(usize, Vec<u64>)| {
        body.len() == 1 || (*index as u64).is_multiple_of(every)
    })
    .flat_map(|(index, body)| programs(index as u64, &body))
}

/// Returns the programs of a body: the positions that accept it together as one program, the ones
/// that probably don't alone.
fn programs(index: u64, body: &[u64]) -> Vec<Case> {
    let chosen: Vec<(&str, &str)> = body
        .iter()
        .filter_map(|at| STATEMENTS.get(usize::try_from(*at).unwrap_or(0)).copied())
        .collect();
    let texts: Vec<&str> = chosen.iter().map(|(text, _)| *text).collect();
    let mut bound: Vec<&str> = Vec::new();
    for (_, names) in &chosen {
        for name in names.split_whitespace() {
            if !bound.contains(&name) {
                bound.push(name);
            }
        }
    }
    let strict_errors = index.is_multiple_of(2);
    let mut list = Vec::new();
    // An unbound variable is bound before, in one program; in the other it is left unsafe. A third
    // has `x` and `y` from outside.
    let mentions = |name: &str| texts.iter().any(|text| words(text).any(|word| word == name));
    let missing: Vec<&str> =
        ["x", "y"].into_iter().filter(|name| mentions(name) && !bound.contains(name)).collect();
    let mut body = texts.join("; ");
    let mut head = bound.clone();
    if !missing.is_empty() {
        if index.is_multiple_of(7) {
            list.push(case(&body, &head_of(&bound), strict_errors, true, None));
        }
        let before: Vec<String> = missing
            .iter()
            .map(|name| format!("{name} := {}", if *name == "x" { "input.a" } else { "input.b" }))
            .collect();
        body = format!("{}; {body}", before.join("; "));
        head.extend(&missing);
    }
    let head = head_of(&head);
    list.push(case(&body, &head, strict_errors, false, None));
    let first = texts.first().copied().unwrap_or_default();
    if first.starts_with("some") || first.starts_with("print") {
        return list;
    }
    // A single statement gets all modifiers that replace something it names; of the other bodies a
    // third gets one, mostly one of these.
    let about: Vec<&str> =
        MODIFIERS.iter().copied().filter(|modifier| is_about(modifier, first)).collect();
    let modifiers = match texts.len() {
        1 => about,
        _ if index.is_multiple_of(3) => {
            let choice = usize::try_from(index / 3).unwrap_or(0);
            let from =
                if about.is_empty() || choice.is_multiple_of(5) { MODIFIERS } else { &about };
            vec![from[choice / 5 % from.len()]]
        }
        _ => Vec::new(),
    };
    for modifier in modifiers {
        let with = body.replacen(first, &format!("{first} {modifier}"), 1);
        list.push(case(&with, &head, strict_errors, false, Some(modifier)));
    }
    list
}

/// Returns `true` if a modifier replaces something that a statement names.
fn is_about(modifier: &str, statement: &str) -> bool {
    modifier.split("with ").filter_map(|one| one.split(' ').next()).any(|target| {
        let name = target.strip_prefix("data.small.").unwrap_or(target);
        !name.is_empty() && words(statement).any(|word| word.starts_with(name))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
}

fn head_of(bound: &[&str]) -> String {
    match bound {
        [] => "true".to_owned(),
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn case(
    body: &str,
    head: &str,
    strict_errors: bool,
    alone: bool,
    modifier: Option<&'static str>,
) -> Case {
    let mut text = format!("{ABOUT}package small\n\n{IMPORTS}\n{FIXED}\n");
    let mut queries = Vec::new();
    for (index, (name, place)) in PLACES.iter().enumerate() {
        if (alone || modifier.is_some()) && index % 4 != 0 {
            continue;
        }
        text.push_str(&place.replace('@', body).replace('#', head));
        text.push_str("\n\n");
        queries.push(format!("data.small.{name}"));
    }
    // All of it, and what isn't in it.
    if head.len().is_multiple_of(3) {
        queries.push("data".to_owned());
    }
    let mut case =
        Case::new(text, queries, INPUTS.iter().map(|input| (*input).to_owned()).collect());
    case.data = r#"{"d":{"o":{"a":1,"c":[2]},"n":{"1":5}}}"#.to_owned();
    case.files.push(("system.rego".to_owned(), "package system\n\nhidden := 1\n".to_owned()));
    case.files.push(("within.rego".to_owned(), WITHIN.to_owned()));
    case.strict_errors = strict_errors;
    case.origin = "small".to_owned();
    case
}
