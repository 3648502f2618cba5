# METADATA
# title: The image isn't named by a moving tag
# description: >-
#   `latest`, or no tag at all, is another image tomorrow.
# custom:
#   severity: medium
#   remediation: >-
#     Name the image by a version or by its digest.
#   controls:
#     osps: [OSPS-BR-02.01]
#     ssdf: [PS.3.1]
#     nist_800_53: [CM-2]
#   parameters:
#     - name: denied_tags
#       description: Tags that may not name an image.
#       default: [latest]
#   input: [image]
package image_baseline.tag

import data.lib.documents
import data.lib.parameters

result := {"skipped": true, "skip_reason": "the input is no image: `--image`", "violations": deny} if {
	documents.shape != "image"
} else := {"skipped": false, "violations": deny}

denied_tags := parameters.get("denied_tags", ["latest"])

deny contains {"message": message} if {
	documents.shape == "image"
	reference := object.get(input, "reference", "")
	not contains(reference, "@")
	tag(reference) in denied_tags
	message := sprintf("`%s` is named by the moving tag `%s`", [reference, tag(reference)])
}

# The text after the last colon, unless that is a registry's port.
tag(reference) := parts[1] if {
	segments := split(reference, "/")
	parts := split(segments[count(segments) - 1], ":")
	count(parts) == 2
} else := "latest"
