# METADATA
# title: Every package has an identifier
# description: >-
#   NTIA's minimum elements: a package URL, a CPE or a SWID tag with which other tools can find
#   the package.
# custom:
#   severity: medium
#   remediation: >-
#     Add the package URL (`purl`) of each package.
#   controls:
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8, SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.identifiers

import data.lib.sbom
import data.lib.value

result := sbom.verdict(deny)

deny contains {"message": message, "components": missing} if {
	some document in sbom.all
	packages := [component | some component in document.components; component.package]
	missing := {sbom.name(component) | some component in packages; not component.identified}
	count(missing) > 0
	message := sprintf(
		"%d of %d packages in %s have no package URL, CPE or SWID tag: %s",
		[count(missing), count(packages), document.label, value.names(missing)],
	)
}
