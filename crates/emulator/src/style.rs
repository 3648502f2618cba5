//! The style of JSON responses: camel or snake case, with defaults or without.
//!
//! Services use both casings, and write defaults or leave them out. `schema` writes resources in a
//! style.

/// The casing of a response's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Casing {
    /// `createdAt`.
    Camel,
    /// `created_at`.
    Snake,
}

/// The style of responses.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonStyle {
    pub casing: Casing,
    /// `true` if fields with their type's default are left out, as proto3 JSON allows.
    pub omit_defaults: bool,
}

impl JsonStyle {
    /// Converts a key from snake case.
    pub fn key(self, snake: &str) -> String {
        match self.casing {
            Casing::Snake => snake.to_owned(),
            Casing::Camel => {
                let mut words = snake.split('_');
                let mut key = words.next().unwrap_or_default().to_owned();
                for word in words {
                    let mut chars = word.chars();
                    key.extend(chars.next().map(|c| c.to_ascii_uppercase()));
                    key.push_str(chars.as_str());
                }
                key
            }
        }
    }
}
