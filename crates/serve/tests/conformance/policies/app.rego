package app

default allow := false

allow if input.user == "admin"

names := {"b", "a"}

greeting := sprintf("<hello> & %v", [input.name])

conflict := 1 if input.x

conflict := 2 if input.x

undefined if input.absent == 1

failing := 1 / input.zero

big := 12345678901234567890

deep.part := 1

fn(x) := x
