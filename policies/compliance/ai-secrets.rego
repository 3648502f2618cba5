# METADATA
# title: No secret is in the files of an agent
# description: >-
#   Instructions and settings of an agent are sent to its provider.
# custom:
#   severity: critical
#   remediation: >-
#     Revoke the secret, and remove it from the file.
#   controls:
#     ssdf: [PO.3.2, PO.5.2]
#     nist_800_53: [CM-7, CM-10]
#   input: [ai-agent-config, ai-coding-session, release]
#   functions: [evidence, download_artifact]
package compliance.ai_secrets

import data.lib.agents

result := agents.verdict(deny)

pattern := `(AKIA[0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{22,}|glpat-[0-9A-Za-z_-]{20}|sk-[0-9A-Za-z_-]{20,}|xox[abprs]-[0-9A-Za-z-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----)`

deny contains {"message": message} if {
	some found in agents.all
	some file in found.files
	regex.match(pattern, file.text)
	message := sprintf("the file `%s` in %s has a secret", [file.path, found.label])
}
