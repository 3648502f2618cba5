# METADATA
# title: A report of vulnerabilities is present
# description: >-
#   An image, a release or a set of files without a report was never scanned, or its report was
#   lost.
# custom:
#   severity: high
#   remediation: >-
#     Scan the artifact in the build, such as with Trivy or Grype, and attach the report as an
#     attestation or send it to the service.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1]
#     cra: ["Annex I, Part II, 3"]
#     nist_800_53: [RA-5]
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.present

import data.lib.documents
import data.lib.vulnerabilities

result := vulnerabilities.presence(deny)

deny contains {"message": "no report of vulnerabilities is present"} if {
	documents.shape != "document"
	count(vulnerabilities.candidates) == 0
}
