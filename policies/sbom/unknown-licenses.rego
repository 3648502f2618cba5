# METADATA
# title: Every package has a license
# description: >-
#   A package without a license can't be used lawfully by default, and `NOASSERTION` says nothing.
# custom:
#   severity: low
#   remediation: >-
#     Find out the license of each package and add it to the SBOM, or replace the package.
#   controls:
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8, SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.unknown_licenses

import data.lib.sbom
import data.lib.value

result := sbom.verdict(deny)

deny contains {"message": message, "components": missing} if {
	some document in sbom.all
	packages := [component | some component in document.components; component.package]
	missing := {sbom.name(component) | some component in packages; count(component.licenses) == 0}
	count(missing) > 0
	message := sprintf(
		"%d of %d packages in %s have no license: %s",
		[count(missing), count(packages), document.label, value.names(missing)],
	)
}
