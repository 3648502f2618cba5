//! The compiled form: what the machine runs.
