# METADATA
# title: Every dependency is a component
# description: >-
#   A dependency on a component that the SBOM doesn't have is a hole in the list.
# custom:
#   severity: medium
#   remediation: >-
#     Add the missing components, or remove the entries about them.
#   controls:
#     ssdf: [PS.3.2]
#     nist_800_53: [CM-8]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.references

import data.lib.sbom
import data.lib.value

result := sbom.verdict(deny)

deny contains {"message": message} if {
	some document in sbom.all
	missing := document.linked - document.known
	count(missing) > 0
	message := sprintf("%s has dependencies on unknown components: %s", [document.label, value.names(missing)])
}
