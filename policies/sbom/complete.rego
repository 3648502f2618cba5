# METADATA
# title: Every component is in the dependencies
# description: >-
#   A component that no dependency mentions can't be traced to what brings it in. A component
#   without dependencies of its own has an empty entry in CycloneDX.
# custom:
#   severity: low
#   remediation: >-
#     Use a generator that writes the whole graph, or declare the missing components in
#     `dependencies`, or in `relationships` in SPDX.
#   controls:
#     ssdf: [PS.3.2, PW.4.1]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.complete

import data.lib.sbom
import data.lib.value

result := sbom.verdict(deny)

deny contains {"message": message, "components": missing} if {
	some document in sbom.all
	missing := {sbom.name(component) | some component in document.components; not component.id in document.linked}
	count(missing) > 0
	message := sprintf(
		"%d of %d components in %s aren't in the dependencies: %s",
		[count(missing), count(document.components), document.label, value.names(missing)],
	)
}
