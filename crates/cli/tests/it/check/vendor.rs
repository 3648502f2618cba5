//! Answers that the vendor's own engine gives otherwise.

use crate::cli::Sandbox;

#[test]
fn uses_with_another_result_in_the_vendors_engine_are_named() {
    let sandbox = Sandbox::new();
    let check = |body: &str, product: &str| {
        let text = format!(
            "package p\n\ndeny contains \"x\" if {{\n\td := {product}.discover(input.digest, \"\")\n\t{body}\n}}\n"
        );
        let file = sandbox.write("p.rego", text);
        sandbox.run(&["check", "--product", product, &file]).output()
    };
    for (body, says) in [
        ("not d.references", "leaves `references` out if it is empty: `not` holds only there"),
        ("not d.kind", "leaves `kind` out if it is empty: `not` holds only there"),
        ("d.references == []", "this holds only here"),
        ("d.public == false", "`public` is undefined in the vendor's engine"),
        ("d.references[_].downloadable != true", "leaves `downloadable` out"),
        ("d.createdAt < \"2026\"", "`createdAt` is undefined in the vendor's engine"),
        (
            "some r in d.references\n\tr.createdAt",
            "there it is `created_at`, an object with `seconds`",
        ),
        ("d.created_at.seconds < 3", "only the vendor's engine has it; here it is `createdAt`"),
    ] {
        let output = check(body, "chainloop").code(1);
        assert!(output.stdout.contains(says), "{body}: {output:#?}");
        let other = check(body, "platform");
        assert!(!other.stdout.contains("vendor"), "{body}: {other:#?}");
    }
    for body in [
        "count(object.get(d, \"references\", [])) == 0",
        "not d.public",
        "d.public",
        "d.public == true",
        "d.kind != \"\"",
        "d.references[_].kind == \"SARIF\"",
        "d.kind\n\tnot input.references",
        "d.createdAt # check:ignore vendor-answer",
    ] {
        check(body, "chainloop").code(0);
    }
}
