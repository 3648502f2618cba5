# METADATA
# title: Every package has a supplier
# description: >-
#   NTIA's minimum elements: the person or the organization that supplies the package.
# custom:
#   severity: low
#   remediation: >-
#     Add the suppliers, such as with an SBOM enrichment tool: `supplier`, `publisher` or
#     `author`.
#   controls:
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8, SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.suppliers

import data.lib.sbom
import data.lib.value

result := sbom.verdict(deny)

deny contains {"message": message, "components": missing} if {
	some document in sbom.all
	packages := [component | some component in document.components; component.package]
	missing := {sbom.name(component) | some component in packages; count(component.suppliers) == 0}
	count(missing) > 0
	message := sprintf(
		"%d of %d packages in %s have no supplier: %s",
		[count(missing), count(packages), document.label, value.names(missing)],
	)
}
