package lib.purl_test

import data.lib.purl

# Canonical forms as in the tests of the purl specification.
test_parse if {
	every text, parsed in {
		"pkg:npm/%40angular/core@16.0.0": ["npm", "@angular", "core", "16.0.0"],
		"pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1?type=jar#a/b": ["maven", "org.apache.logging.log4j", "log4j-core", "2.14.1"],
		"PKG:PyPI/Django_Rest@1.0": ["pypi", "", "django-rest", "1.0"],
		"pkg:golang/github.com/Gorilla/mux@v1.8.0": ["golang", "github.com/gorilla", "mux", "v1.8.0"],
		"pkg:deb/debian/libssl3@3.0.15-1~deb12u1?arch=amd64&distro=debian-12": ["deb", "debian", "libssl3", "3.0.15-1~deb12u1"],
		"pkg://gem/rails": ["gem", "", "rails", ""],
		"pkg:oci/shop@sha256%3A2731": ["oci", "", "shop", "sha256:2731"],
		"pkg:deb/debian/libstdc++6@12.2": ["deb", "debian", "libstdc++6", "12.2"],
		"pkg:generic/50%/x": ["generic", "50%", "x", ""],
	} {
		purl.parse(text) == {"type": parsed[0], "namespace": parsed[1], "name": parsed[2], "version": parsed[3]}
	}
	every text in ["", "npm/a", "pkg:", "pkg:npm", "pkg:npm/", "pkg:1a/b"] {
		not purl.parse(text)
	}
}

test_name if {
	every text, name in {
		"pkg:npm/%40angular/core@16.0.0": "@angular/core",
		"pkg:npm/lodash": "lodash",
		"pkg:maven/org.apache.logging.log4j/log4j-core": "org.apache.logging.log4j:log4j-core",
		"pkg:deb/debian/libssl3": "libssl3",
		"pkg:golang/github.com/gorilla/mux": "github.com/gorilla/mux",
	} {
		purl.name(purl.parse(text)) == name
	}
}
