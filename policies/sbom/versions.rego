# METADATA
# title: Every package has a version
# description: >-
#   NTIA's minimum elements: without a version, a package can't be matched to vulnerabilities.
# custom:
#   severity: medium
#   remediation: >-
#     Pin the package, or correct the generator's configuration so that it finds the version.
#   controls:
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8, SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.versions

import data.lib.sbom
import data.lib.value

result := sbom.verdict(deny)

deny contains {"message": message, "components": missing} if {
	some document in sbom.all
	packages := [component | some component in document.components; component.package]
	missing := {sbom.name(component) | some component in packages; component.version == ""}
	count(missing) > 0
	message := sprintf(
		"%d of %d packages in %s have no version: %s",
		[count(missing), count(packages), document.label, value.names(missing)],
	)
}
