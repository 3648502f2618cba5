# METADATA
# title: Every report of vulnerabilities can be read
# description: >-
#   A document that claims to be a report has to be one. A scan that failed is no report.
# custom:
#   severity: high
#   remediation: >-
#     Run the scan again, with a current version of the scanner and one of the formats that
#     `policies show` lists.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1]
#     cra: ["Annex I, Part II, 3"]
#     nist_800_53: [RA-5]
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.readable

import data.lib.vulnerabilities

result := vulnerabilities.readability
