# METADATA
# title: No license is denied
# description: >-
#   An expression fails if it can't be fulfilled without a denied license. Nothing is denied by
#   default.
# custom:
#   severity: high
#   remediation: >-
#     Replace the package, or choose another of its licenses and state this in the SBOM.
#   controls:
#     osps: [OSPS-LE-02.02]
#     ssdf: [PW.4.1]
#     nist_800_53: [CM-10]
#   parameters:
#     - name: denied_licenses
#       description: SPDX identifiers of the denied licenses, such as `AGPL-*`.
#       default: []
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.denied_licenses

import data.lib.licenses
import data.lib.parameters
import data.lib.sbom

result := sbom.verdict(deny)

denied_licenses := parameters.get("denied_licenses", [])

rejected := {license |
	some license in sbom.licenses
	licenses.denied(license, denied_licenses)
}

deny contains {"message": message, "package": sbom.name(component), "license": license} if {
	some document in sbom.all
	some component in document.components
	some license in component.licenses
	license in rejected
	message := sprintf("`%s` in %s has the denied license `%s`", [sbom.name(component), document.label, license])
}
