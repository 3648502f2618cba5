package fails

deny contains "unknown" if {
	some message in input.messages
	not platform.discover(message, message)
}
