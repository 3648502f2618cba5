//! The strings of values.
//!
//! Owns their memory: short strings are an `Arc<str>`; long ones stay where they were built, since
//! a copy of an artifact's content is as large as the artifact.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The length from which a string isn't copied to be shared.
const LONG: usize = 16 * 1024;

/// The string of a value; cheap to clone.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    /// The bytes, allocated with their reference count.
    Shared(Arc<str>),
    /// The bytes where they were built.
    Built(Arc<String>),
}

impl Text {
    /// Returns `true` if both are the same string in memory.
    #[inline]
    pub fn ptr_eq(a: &Self, b: &Self) -> bool {
        a.as_ptr() == b.as_ptr() && a.len() == b.len()
    }

    /// Returns the string as an `Arc<str>`; a long one is copied.
    pub fn to_name(&self) -> Arc<str> {
        match &self.0 {
            Repr::Shared(text) => Arc::clone(text),
            Repr::Built(text) => Arc::from(text.as_str()),
        }
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match &self.0 {
            Repr::Shared(text) => text,
            Repr::Built(text) => text,
        }
    }
}

impl AsRef<str> for Text {
    #[inline]
    fn as_ref(&self) -> &str {
        self
    }
}

impl From<&str> for Text {
    #[inline]
    fn from(text: &str) -> Self {
        Self(Repr::Shared(text.into()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        // A string with much unused capacity is copied.
        if text.len() < LONG || text.capacity() - text.len() > text.len() / 8 {
            Self(Repr::Shared(text.into()))
        } else {
            Self(Repr::Built(Arc::new(text)))
        }
    }
}

impl From<Arc<str>> for Text {
    #[inline]
    fn from(text: Arc<str>) -> Self {
        Self(Repr::Shared(text))
    }
}

impl From<&Arc<str>> for Text {
    #[inline]
    fn from(text: &Arc<str>) -> Self {
        Self(Repr::Shared(Arc::clone(text)))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Self::ptr_eq(self, other) || **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if Self::ptr_eq(self, other) {
            return Ordering::Equal;
        }
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_string_is_not_copied() {
        let long = "a".repeat(LONG);
        let address = long.as_ptr();
        let kept = Text::from(long.clone());
        assert_ne!(kept.as_ptr(), address);
        let kept = [kept, Text::from(long)];
        assert_eq!(kept[1].as_ptr(), address);
        assert_eq!(kept[0], kept[1]);
        assert_eq!(kept[0].cmp(&kept[1]), Ordering::Equal);
        let copy = Text::from(&*kept[0]);
        assert_eq!(copy, kept[0]);
        assert!(Text::ptr_eq(&kept[0], &kept[0].clone()) && !Text::ptr_eq(&copy, &kept[0]));
        let mut roomy = String::with_capacity(4 * LONG);
        roomy.push_str(&copy);
        let address = roomy.as_ptr();
        assert_ne!(Text::from(roomy).as_ptr(), address);
        assert_eq!(size_of::<Text>(), 16);
    }
}
