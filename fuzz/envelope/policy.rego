package envelope

# The statement that was signed.
signed := {
	"_type": "https://in-toto.io/Statement/v1",
	"subject": [{"name": "app", "digest": {"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}],
	"predicateType": "https://example.com/test/v1",
	"predicate": {"passed": true, "count": 7},
}

deny contains "it isn't the statement that was signed" if input != signed
