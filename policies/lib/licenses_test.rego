package lib.licenses_test

import data.lib.licenses

test_valid if {
	every expression in [
		"MIT",
		"(MIT)",
		"MIT OR Apache-2.0",
		"MIT or Apache-2.0",
		"MIT AND (Apache-2.0 OR (BSD-3-Clause AND ISC))",
		"(MIT)AND(ISC)",
		"GPL-2.0-only WITH Classpath-exception-2.0",
		"GPL-2.0+",
		"LicenseRef-Acme",
		"DocumentRef-a:LicenseRef-b",
		"(((((MIT)))))",
	] {
		licenses.valid(expression)
	}
	every expression in [
		"",
		"()",
		"MIT OR ()",
		"(MIT",
		"MIT)",
		"MIT OR",
		"AND MIT",
		"MIT AND AND ISC",
		"MIT ISC",
		"MIT (ISC)",
		"(MIT) ISC",
		"Apache License, Version 2.0",
		"MIT/X11",
		"WITH",
		"MIT WITH",
		"<yes>",
		"((((((((MIT))))))))",
	] {
		not licenses.valid(expression)
	}
}

test_fulfilled if {
	every expression in [
		"MIT",
		"mit",
		"MIT OR GPL-3.0-only",
		"GPL-3.0-only OR MIT",
		"GPL-3.0-only AND MIT OR ISC",
		"ISC AND (GPL-3.0-only OR MIT)",
		"(GPL-3.0-only OR ISC) AND (MIT OR GPL-3.0-only)",
		"ISC WITH some-exception",
		"Acme EULA",
	] {
		licenses.fulfilled(expression, ["MIT", "isc", "Acme EULA"])
	}
	every expression in [
		"GPL-3.0-only",
		"MIT AND GPL-3.0-only",
		"ISC AND (GPL-3.0-only AND MIT)",
		"(GPL-3.0-only OR ISC) AND GPL-3.0-only",
		"MI",
		"MIT-0",
		"",
		"MIT OR ()",
		"Acme",
	] {
		not licenses.fulfilled(expression, ["MIT", "isc", "Acme EULA"])
	}
}

test_denied if {
	every expression in ["GPL-2.0-only", "GPL-2.0", "gpl-2.0-only", "MIT AND GPL-2.0-only", "GPL-2.0-only OR AGPL-3.0-or-later", "GPL-2.0-only WITH Classpath-exception-2.0", "AGPL-3.0+", "Acme EULA"] {
		licenses.denied(expression, ["GPL-2.0", "AGPL-*", "acme eula"])
	}
	every expression in ["MIT", "MIT OR GPL-2.0-only", "GPL-2.0-or-later", "GPL-2.0+", "LGPL-2.0-only", "GPL", "MIT AND (GPL-2.0-only OR ISC)", "", "EULA"] {
		not licenses.denied(expression, ["GPL-2.0", "AGPL-*", "acme eula"])
	}
}

test_exceptions_in_lists if {
	licenses.fulfilled("GPL-2.0 WITH Classpath-exception-2.0", ["GPL-2.0-only WITH Classpath-exception-2.0"])
	not licenses.fulfilled("GPL-2.0-only", ["GPL-2.0-only WITH Classpath-exception-2.0"])
	not licenses.denied("GPL-2.0-only", ["GPL-2.0-only WITH Classpath-exception-2.0"])
}

test_or_later if {
	licenses.fulfilled("LGPL-2.1+", ["LGPL-2.1-or-later"])
	licenses.fulfilled("GFDL-1.3", ["GFDL-1.3-only"])
	not licenses.fulfilled("LGPL-2.1+", ["LGPL-2.1-only"])
	licenses.fulfilled("Apache-1.1+", ["Apache-1.1+"])
	not licenses.fulfilled("Apache-1.1+", ["Apache-1.1"])
}
