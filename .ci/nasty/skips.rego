package skips

# A reason is somebody else's words too.
result := {
	"skipped": true,
	"skip_reason": concat("", input.messages),
}
