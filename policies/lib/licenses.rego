# SPDX license expressions (https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/).
package lib.licenses

# Whether a text is an expression: identifiers with AND, OR, WITH and parentheses.
valid(expression) if {
	form := replace(normal(expression), "|", "&")
	every term in terms(expression) {
		regex.match(`^[A-Za-z0-9][A-Za-z0-9.:-]*\+?( with [A-Za-z0-9][A-Za-z0-9.:-]*)?$`, term)
		not term in {"and", "or", "with"}
	}
	value(form, terms(expression)) == yes
}

# Whether licenses that the lists allow fulfill an expression. One alternative of OR is enough.
# A text that is no expression, such as a license's name, has to be in the list itself.
fulfilled(expression, allowed) if {
	valid(expression)
	value(normal(expression), {term | some term in terms(expression); listed(term, allowed)}) == yes
} else if {
	not valid(expression)
	listed(lower(expression), allowed)
}

# Whether an expression can't be fulfilled without a denied license.
denied(expression, list) if {
	valid(expression)
	value(normal(expression), {term | some term in terms(expression); not listed(term, list)}) == no
} else if {
	not valid(expression)
	listed(lower(expression), list)
}

# The licenses in an expression, in lower case, each with its exception.
terms(expression) := {term | some term in regex.split(`[()&|]`, normal(expression)); term != ""}

# Whether a list has a license: by its identifier in any case, by a pattern such as `GPL-*`, or by
# the identifier without its exception.
listed(license, list) if {
	some entry in list
	pattern := current(lower(entry))
	some candidate in {current(license), current(split(license, " with ")[0])}
	glob.match(pattern, null, candidate)
}

# The GNU identifiers without `-only` and `-or-later` are deprecated names of these licenses.
current(license) := regex.replace(
	regex.replace(license, `^((?:a|l)?gpl|gfdl)-([0-9.]+)\+`, "$1-$2-or-later"),
	`^((?:a|l)?gpl|gfdl)-([0-9]+\.[0-9]+)($| )`, "$1-$2-only$3",
)

# An expression in lower case, with `&` and `|` for the operators and no other spaces than those of
# `with`.
normal(expression) := regex.replace(spelled, `\s*([()&|])\s*`, "$1") if {
	spaced := regex.replace(regex.replace(lower(trim_space(expression)), `([()])`, " $1 "), `\s+`, " ")
	spelled := strings.replace_n({" and ": "&", " or ": "|"}, spaced)
}

yes := "<yes>"

no := "<no>"

# The value of an expression if these terms are true. Each step replaces the innermost parentheses;
# more than six levels count as an invalid expression.
value(form, true_terms) := flat(step(step(step(step(step(step(form, accepted), accepted), accepted), accepted), accepted), accepted), accepted) if {
	accepted := true_terms | {yes}
}

step(form, accepted) := strings.replace_n(
	{group: flat(trim(group, "()"), accepted) | some group in regex.find_n(`\([^()]*\)`, form, -1)},
	form,
)

flat(form, accepted) := yes if {
	some alternative in split(form, "|")
	every term in split(alternative, "&") {
		term in accepted
	}
} else := no
