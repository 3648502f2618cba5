//! The definition of a resource: its fields, written once.
//!
//! Owns the macros that generate a struct, its reading and writing, and the table of fields through
//! which policies see the same resource. A struct and its table share a name: one is a type, the
//! other a value. Reading accepts either casing of a documented field (or both, if they agree),
//! null for absent, and keeps every other field; writing uses the documented spelling.

/// Defines a resource.
///
/// A field is `name: kind` or, if its name in Rust differs, `name = "wire name": kind`. Kinds:
/// `text`, `time`, `flag`, `int`, `number`, `count` (64 bits, as a string), `texts`
/// (`map<string,string>`), `(Enumeration)`, `{Resource}`, `[Resource]`, `{map Resource}`.
macro_rules! resource {
    ($(#[$meta:meta])* $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident $(= $wire:literal)?: $kind:tt,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: Option<$crate::resources::resource::rust_type!($kind)>,)*
            /// Every undocumented field, as the service sent it.
            pub other: std::collections::BTreeMap<String, rego::Value>,
        }

        // Policies don't see every resource.
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        pub static $name: [$crate::resources::types::Field;
            [$(stringify!($field)),*].len()] = [$($crate::resources::types::Field {
                name: $crate::resources::resource::wire_name!($field $($wire)?),
                ty: $crate::resources::resource::field_type!($kind),
                required: $crate::resources::resource::defaulted!($kind),
                doc: concat!($($doc),+).trim_ascii(),
            }),*];

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(if let Some(value) = &self.$field {
                    map.serialize_entry(
                        $crate::resources::resource::wire_name!($field $($wire)?), value)?;
                })*
                for (key, value) in &self.other {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object for ", stringify!($name)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        $(let mut $field = $crate::resources::resource::Slot::default();)*
                        let mut other = std::collections::BTreeMap::new();
                        while let Some(key) = map.next_key::<String>()? {
                            $(let name = $crate::resources::resource::wire_name!($field $($wire)?);
                            if $crate::resources::types::same_name(name, &key) {
                                let value = $crate::resources::resource::read!($kind, map);
                                $field.fill(name, &key, value).map_err(serde::de::Error::custom)?;
                                continue;
                            })*
                            let $crate::resources::scalars::Undocumented(value) = map.next_value()?;
                            other.insert(key, value);
                        }
                        Ok($name { $($field: $field.value,)* other })
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}

macro_rules! wire_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $wire:literal) => {
        $wire
    };
}

macro_rules! rust_type {
    (text) => { String };
    (time) => { $crate::resources::Timestamp };
    (flag) => { bool };
    (int) => { i64 };
    (number) => { serde_json::Number };
    (count) => { $crate::resources::Count };
    (texts) => { std::collections::BTreeMap<String, String> };
    (($of:ident)) => { $of };
    ([$of:ident]) => { Vec<$of> };
    ({$of:ident}) => { Box<$of> };
    ({map $of:ident}) => { std::collections::BTreeMap<String, $of> };
}

macro_rules! field_type {
    (text) => {
        $crate::resources::types::Type::String
    };
    (time) => {
        $crate::resources::types::Type::Timestamp
    };
    (flag) => {
        $crate::resources::types::Type::Boolean
    };
    (int) => {
        $crate::resources::types::Type::Integer
    };
    (number) => {
        $crate::resources::types::Type::Number
    };
    (count) => {
        $crate::resources::types::Type::Count
    };
    (texts) => {
        $crate::resources::types::Type::Map(&$crate::resources::types::Type::String)
    };
    (($of:ident)) => {
        $crate::resources::types::Type::String
    };
    ([$of:ident]) => {
        $crate::resources::types::Type::Array(&$crate::resources::types::Type::Object(&$of))
    };
    ({$of:ident}) => {
        $crate::resources::types::Type::Object(&$of)
    };
    ({map $of:ident}) => {
        $crate::resources::types::Type::Map(&$crate::resources::types::Type::Object(&$of))
    };
}

/// Expands to `true` if a policy gets the type's default when the service leaves the field out. A
/// message has no default: a policy that looks for an override must not find an empty one.
macro_rules! defaulted {
    ({$of:ident}) => {
        false
    };
    ($kind:tt) => {
        true
    };
}

macro_rules! read {
    (int, $map:ident) => {
        $map.next_value::<Option<$crate::resources::scalars::Int>>()?.map(|int| int.0)
    };
    (texts, $map:ident) => {
        $map.next_value::<Option<$crate::resources::scalars::Keyed<String>>>()?.map(|map| map.0)
    };
    ({map $of:ident}, $map:ident) => {
        $map.next_value::<Option<$crate::resources::scalars::Keyed<$of>>>()?.map(|map| map.0)
    };
    ($kind:tt, $map:ident) => {
        $map.next_value::<Option<$crate::resources::resource::rust_type!($kind)>>()?
    };
}

/// Defines an enumeration with values that aren't documented.
macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        ///
        /// The interface names the values below; every other value is kept as it is.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[doc = $doc])+ $variant,)*
            /// Any other value, as the service spells it.
            Other(String),
        }

        impl $name {
            /// Returns the value as the service spells it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

pub(crate) use {defaulted, field_type, open_enum, read, resource, rust_type, wire_name};

/// A documented field while its object is read. It may be there in both casings if their values agree.
pub struct Slot<T> {
    /// The value; none for null.
    pub value: Option<T>,
    /// `true` if the documented spelling was read.
    documented: bool,
    /// `true` if the other spelling was read.
    other: bool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { value: None, documented: false, other: false }
    }
}

impl<T: PartialEq> Slot<T> {
    /// Returns `true` if the field was there.
    pub fn is_read(&self) -> bool {
        self.documented || self.other
    }

    /// Records the value that the field `name` has under `key`.
    pub fn fill(&mut self, name: &str, key: &str, value: Option<T>) -> Result<(), String> {
        let before = self.is_read();
        let seen = if key == name { &mut self.documented } else { &mut self.other };
        if std::mem::replace(seen, true) {
            return Err(format!("the key `{key}` appears twice"));
        }
        if before && self.value != value {
            return Err(format!("duplicate `{name}` with different values"));
        }
        self.value = value;
        Ok(())
    }
}
