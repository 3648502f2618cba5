# METADATA
# title: "Nasty <script>alert(1)</script> title"
# description: |-
#   says what somebody may try to say
#   ::error::owned
# related_resources:
# - https://example.com/nasty
# - "javascript:alert(1)"
# custom:
#   severity: high
package nasty

deny contains message if some message in input.messages

violations contains {
	"message": message,
	"severity": message,
	"id": message,
	"digest": message,
	message: [message, {message: message}],
} if {
	some message in input.messages
}

warn contains sprintf("%s warned: %s", [message, message]) if some message in input.messages

# What prints is nobody's command either.
warn contains "printed" if {
	some message in input.messages
	print(message)
}
