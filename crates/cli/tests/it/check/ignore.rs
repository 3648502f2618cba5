//! `# check:ignore CODE`.

use super::{findings, table};

#[test]
fn warnings_are_silenced_where_they_are() {
    let unused = "unused-ignore";
    table(&[
        ("a if { x := 1 } # check:ignore unused-local", &[]),
        ("# check:ignore unused-local\na if { x := 1 }", &[]),
        ("\t# check:ignore unused-local\n# because\na if { x := 1 }", &[]),
        ("#check:ignore unused-local\r\na if { x := 1 }\r", &[]),
        (
            "a if { x := 1; platform.discover(input.d, \"\").knid } # check:ignore unused-local, unknown-field",
            &[],
        ),
        (
            "# check:ignore unused-local\n\na if { x := 1 }",
            &[(unused, 1, 16), ("unused-local", 3, 8)],
        ),
        (
            "a if { x := 1 } # check:ignore unknown-field",
            &[("unused-local", 1, 8), (unused, 1, 32)],
        ),
        ("a if { x := 1 } # check:ignore unused-locl", &[("unused-local", 1, 8), (unused, 1, 32)]),
        ("a if { x := 1 } # check:ignore", &[("unused-local", 1, 8), (unused, 1, 17)]),
        ("a := 1 # check:ignore unused-local, unknown-field", &[(unused, 1, 23), (unused, 1, 37)]),
        ("a := \"# check:ignore unused-local\"", &[]),
        // an error stays one
        (
            "a := platform.discover(1, \"\") # check:ignore invalid-argument",
            &[("invalid-argument", 1, 24), (unused, 1, 46)],
        ),
    ]);
}

#[test]
fn a_package_and_an_import_can_be_silenced() {
    let text = "# check:ignore no-verdict\npackage p\nimport data.z # check:ignore unused-import\nx := input.x\n";
    assert_eq!(findings(&[("p.rego", text)]), []);
    let other = "package q # check:ignore no-verdict\ny := input.y\n";
    assert_eq!(findings(&[("p.rego", text), ("q.rego", other)]), [], "each file by itself");
}
