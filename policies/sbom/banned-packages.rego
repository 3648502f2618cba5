# METADATA
# title: No package is banned
# description: >-
#   A package is banned by its name, by its name and version (`log4j-core@2.14.1`), or by its
#   package URL, where `*` matches any text. Nothing is banned by default.
# custom:
#   severity: high
#   remediation: >-
#     Remove the package, or replace it with a version that isn't banned.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.1, PW.4.4]
#     nist_800_53: [CM-7, SR-11]
#   parameters:
#     - name: banned_packages
#       description: Names, `NAME@VERSION` or package URLs of banned packages.
#       default: []
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.banned_packages

import data.lib.parameters
import data.lib.sbom

result := sbom.verdict(deny)

banned_packages := parameters.get("banned_packages", [])

deny contains {"message": message, "package": sbom.name(component), "purl": component.purl} if {
	some ban in banned_packages
	pattern := lower(ban)
	some document in sbom.all
	some component in document.components
	some name in sbom.names(component)
	glob.match(pattern, null, name)
	message := sprintf("`%s` in %s is banned by `%s`", [sbom.name(component), document.label, ban])
}
