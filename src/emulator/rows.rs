//! The spelling of JSON answers: camel or snake case, defaults written or left out.
//!
//! Both spellings are met in the wild, and so are both habits. How a resource is written in them
//! is in `schema`.

/// How an answer's keys are spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Casing {
    /// `createdAt`.
    Camel,
    /// `created_at`.
    Snake,
}

/// How answers are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub casing: Casing,
    /// Leaves out fields that have their type's default, as proto3 JSON may.
    pub omit_defaults: bool,
}

impl Shape {
    /// A key that is given in snake case.
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
