# Times in documents, and ages in days.
package lib.time

nanoseconds_per_day := ((24 * 60) * 60) * 1000000000

pattern := `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

# Whether a text is a time as in RFC 3339, with its zone.
valid(text) if regex.match(pattern, text)

# The age of a time in days, a fraction included. Undefined if the text isn't a time.
age(text) := (time.now_ns() - time.parse_rfc3339_ns(text)) / nanoseconds_per_day if valid(text)

# Whether a time is at most so many days ago, and not more than a day ahead of this clock.
within(text, days) if {
	passed := age(text)
	passed <= days
	passed >= -1
}
