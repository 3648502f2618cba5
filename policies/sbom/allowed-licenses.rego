# METADATA
# title: Every license is allowed
# description: >-
#   With a list of allowed licenses, each other license fails. Of the alternatives of an
#   expression (OR), one has to be allowed. Without a list, every license is allowed.
# custom:
#   severity: medium
#   remediation: >-
#     Replace the package, or add its license to `allowed_licenses`.
#   controls:
#     osps: [OSPS-LE-02.02]
#     ssdf: [PW.4.1]
#     nist_800_53: [CM-10]
#   parameters:
#     - name: allowed_licenses
#       description: SPDX identifiers of the allowed licenses; `*` in an identifier matches any text.
#       default: []
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.allowed_licenses

import data.lib.licenses
import data.lib.parameters
import data.lib.sbom

result := sbom.verdict(deny)

allowed_licenses := parameters.get("allowed_licenses", [])

rejected := {license |
	some license in sbom.licenses
	not licenses.fulfilled(license, allowed_licenses)
}

deny contains {"message": message, "package": sbom.name(component), "license": license} if {
	count(allowed_licenses) > 0
	some document in sbom.all
	some component in document.components
	some license in component.licenses
	license in rejected
	message := sprintf("`%s` in %s has the license `%s`, which isn't allowed", [sbom.name(component), document.label, license])
}
