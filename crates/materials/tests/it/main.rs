//! The integration tests of material kinds.

mod vendor;
