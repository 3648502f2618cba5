//! The core of each construct, one snapshot for each lowering.

use crate::rego::value::Value;
use crate::rego::{HostFunction, Options, Program, SourceText};

/// Returns the core of a policy.
fn core(policy: &str) -> String {
    let function = HostFunction::new("platform.evidence", "string, any -> object[string: any]");
    let mut options = Options::default();
    options.host_functions = vec![function.nondeterministic()];
    options.data = Value::from_json(r#"{"base": {"users": {"ann": 1}}}"#).unwrap();
    let source = SourceText::new("p.rego", format!("package p\n\n{policy}\n"));
    let program =
        Program::compile(vec![source], &options).unwrap_or_else(|problems| panic!("{problems}"));
    program.core().display(program.sources()).to_string()
}

macro_rules! lowering {
    ($name:ident, $policy:expr) => {
        #[test]
        fn $name() {
            insta::with_settings!({
                prepend_module_to_snapshot => false,
                omit_expression => true,
            }, {
                insta::assert_snapshot!(concat!("lowering-", stringify!($name)), core($policy));
            });
        }
    };
}

lowering!(
    terms,
    r#"constant := {"a": [1, 2], "b": "c", "s": {1}}
mixed := {"a": [x, 2], "s": {x}} if x := input.x"#
);

lowering!(
    references,
    r#"of_input := input.a[input.b]
of_variable := y if { x := input.x; y := x.y }
of_rules := constant.a
of_base := data.base.users[input.name]
of_nothing if some _ in 1
of_tree := data.p.nested[input.name]
constant := {"a": 1}
nested.a := 1
nested.b := 2"#
);

lowering!(
    bodies,
    r#"unified := x if { x = input.a[_]; [x, y] = input.pair; y > 1 }
tested if input.a
negated if not input.a.b
negated_comparison if not input.a[input.i] == 1
for_all if every k, v in input.xs { v > 0; k != "a" }
some_in contains x if some x in input.xs
printed if print(input.a, 1)"#
);

lowering!(
    calls,
    r#"built_in := input.a + 1
own := f(input.a)
truth if f(input.a)
host := platform.evidence("sha256:00", {})
compared if input.a < 2
output := z if plus(input.a, 1, z)
f(x) := x if x != 0"#
);

lowering!(
    comprehensions,
    r"array := [x | some x in input.xs]
set := {x | some x in input.xs}
object := {k: v | some k, v in input.xs}
remembered contains ys if { some x in input.xs; ys := [y | some y in input.ys; y.id = x] }
open contains ys if { some k, x in input.xs; ys := [k | some y in input.ys; y.id = x] }"
);

lowering!(
    modifiers,
    r#"of_input if allow with input.user as input.other
of_input_whole if allow with input as {"user": 1}
of_data if allow with data.base.users as {}
of_rule if allow with data.p.limit as 2
of_function_by_value := x if x := platform.evidence("a", {}) with platform.evidence as {"ok": true}
of_function_by_rule := x if x := platform.evidence("a", {}) with platform.evidence as mock
of_built_in if allow with count as 3
allow if { input.user == limit; count(data.base.users) > 0 }
limit := 1
mock(_, _) := {"ok": false}"#
);

lowering!(
    definitions,
    r#"complete := 1 if input.a
complete := 2 if input.b
default complete := 0
otherwise := 1 if { input.a } else := 2 if { input.b } else := 3
pattern(x, {"a": y}, [_, 1]) := y if x
members contains input.a
tree[k].a := v if some k, v in input.xs
sets[k].s contains v if some k, v in input.ys"#
);

lowering!(template_strings, r#"text := $"{input.a}: {count(input.xs)}""#);
