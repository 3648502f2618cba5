# Tasks for developers (https://just.systems). Everything here is a plain command: without `just`,
# copy the line.

# The tests that a change should pass before anything else.
default: lint test

# Formatting and lints, as in CI.
lint:
    cargo fmt --check
    cargo clippy --locked --workspace --all-targets -- -D warnings

# The whole suite, or the tests whose name contains NAME.
test NAME="":
    cargo test --locked {{NAME}}

# Everything that must hold before a change lands.
ci:
    .ci/run

# The documentation, as docs.rs builds it.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

# Take over the snapshots that changed, after a look at their differences.
snapshots:
    cargo xtask snapshots

# Compare generated programs with OPA; needs Go: `just compare random 0 10000`, `just compare calls 0 1000`.
compare KIND FROM="0" COUNT="1000":
    cargo xtask compare {{KIND}} {{FROM}} {{COUNT}}

# Fuzz a target for some seconds; needs nightly Rust: `just fuzz der`. `.ci/fuzz` runs all of them.
fuzz TARGET SECONDS="60":
    cargo xtask fuzz {{TARGET}} {{SECONDS}}

# Take over the public items that changed.
surface:
    cargo xtask surface --update

# One benchmark, as `benches/README.md` names them.
bench NAME:
    cargo bench --locked --bench {{NAME}}
