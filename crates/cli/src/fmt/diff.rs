//! The difference between two texts, in the format of `diff -u` and `patch`.

use similar::TextDiff;

/// Returns the lines that differ, with three lines of context around each.
pub(super) fn unified(name: &str, before: &str, after: &str) -> String {
    let difference = TextDiff::from_lines(before, after);
    difference
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_the_form_of_a_patch() {
        let found = unified("p.rego", "package p\n\na:=1\n", "package p\n\na := 1\n");
        assert_eq!(
            found,
            "--- a/p.rego\n+++ b/p.rego\n@@ -1,3 +1,3 @@\n package p\n \n-a:=1\n+a := 1\n"
        );
        let found = unified("p.rego", "package p", "package p\n");
        assert!(found.contains("\\ No newline at end of file"), "{found}");
    }
}
