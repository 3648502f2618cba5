# Tasks for developers (https://just.systems). Everything here is a plain command: without `just`,
# copy the line.

# The tests that a change should pass before anything else.
default: lint test

# Formatting and lints, as in CI.
lint:
    cargo fmt --check
    cargo clippy --locked --all-targets --features regorus -- -D warnings

# The whole suite, or the tests whose name contains NAME.
test NAME="":
    cargo test --locked {{NAME}}

# Everything that must hold before a change lands.
ci:
    .ci/run

# The documentation, as docs.rs builds it.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --features regorus

# Take over the snapshots that changed, after a look at their differences.
snapshots:
    INSTA_UPDATE=always cargo test --locked --test it
    git diff --stat tests/it/snapshots

# Build the oracle: OPA as a library; needs Go.
oracle:
    cd tests/oracle && go build -o ../../target/oracle .

# Compare COUNT random programs, from seed FROM, with OPA.
random FROM="0" COUNT="10000": oracle
    ORACLE=target/oracle cargo run --release --locked --example opa -- random {{FROM}} {{COUNT}}

# Compare built-in functions with OPA, 40 calls a seed.
calls FROM="0" COUNT="1000": oracle
    ORACLE=target/oracle cargo run --release --locked --example opa -- calls {{FROM}} {{COUNT}}

# One benchmark: layer, service, hosts, artifact, rows or soak.
bench NAME:
    cargo bench --locked --features regorus --bench {{NAME}}
