//! The types of arguments and results in the table of functions.
//!
//! Owns the vocabulary that argument checks, parsing, documentation and static checks share.

/// The type of a value that a policy passes or sees.
///
/// Resources contain each other, and so do their types: two object types are equal if they have the
/// very same table of fields, and `Debug` shows only the fields' names. Code that walks a type has
/// to limit its depth.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Type {
    /// Any value.
    Any,
    /// A string.
    String,
    /// A content digest, `<algorithm>:<lowercase hex>`.
    Digest,
    /// A UUID in its usual form.
    Uuid,
    /// An RFC 3339 timestamp, as a string.
    Timestamp,
    /// A boolean.
    Boolean,
    /// A whole number, exact to 64 bits.
    Integer,
    /// A whole number of 64 bits, as a string.
    Count,
    /// A number.
    Number,
    /// An array of one type.
    Array(&'static Type),
    /// An object with string keys and values of one type.
    Map(&'static Type),
    /// An object with documented fields; it may have undocumented ones too.
    Object(&'static [Field]),
    /// One of two types.
    Either(&'static Type, &'static Type),
    /// Null.
    Null,
}

/// A documented field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The documented spelling.
    pub name: &'static str,
    /// The type.
    pub ty: Type,
    /// In an argument: `true` if it must be given. In a result: `true` if it is always there, with
    /// its type's default when the service leaves it out.
    pub required: bool,
    /// One line about its meaning, unit and limits.
    pub doc: &'static str,
}

impl Field {
    /// A field that is required, or always there.
    pub const fn required(name: &'static str, ty: Type, doc: &'static str) -> Self {
        Self { name, ty, required: true, doc }
    }

    /// A field that may be absent.
    pub const fn optional(name: &'static str, ty: Type, doc: &'static str) -> Self {
        Self { name, ty, required: false, doc }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) | (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => std::ptr::eq(*a, *b),
            (Self::Either(a, b), Self::Either(c, d)) => a == c && b == d,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for Type {}

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Array(of) => write!(f, "Array({of:?})"),
            Self::Map(of) => write!(f, "Map({of:?})"),
            Self::Object(fields) => {
                f.write_str("Object")?;
                f.debug_list().entries(fields.iter().map(|field| field.name)).finish()
            }
            Self::Either(a, b) => write!(f, "Either({a:?}, {b:?})"),
            other => write!(f, "{other}"),
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.write_str("any value"),
            Self::String => f.write_str("string"),
            Self::Digest => f.write_str("digest"),
            Self::Uuid => f.write_str("UUID"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Boolean => f.write_str("boolean"),
            Self::Integer => f.write_str("whole number"),
            Self::Count => f.write_str("whole number in a string"),
            Self::Number => f.write_str("number"),
            Self::Array(of) => write!(f, "array of {of}s"),
            Self::Map(of) => write!(f, "object of {of}s"),
            Self::Object(_) => f.write_str("object"),
            Self::Either(a, b) => write!(f, "{a} or {b}"),
            Self::Null => f.write_str("null"),
        }
    }
}

/// The depth to which the objects of a result are described to type checkers. Resources contain
/// each other without end; fields further in aren't checked.
const MAX_OBJECTS: u32 = 3;

impl Type {
    /// Returns the type of a result as the language's type checker reads it, in the grammar of
    /// [`rego::internal::types`]. Objects may have undocumented fields.
    pub fn result_in_rego(self) -> String {
        let mut text = String::new();
        self.write_result(&mut text, MAX_OBJECTS);
        text
    }

    /// Returns the type of an argument, in the same grammar: a set may stand for an array. The
    /// checker requires every key that the type names, and all other keys share one type, so it
    /// can't tell an unknown filter from a known one.
    pub fn argument_in_rego(self) -> String {
        match self {
            Self::Array(of) => {
                let of = of.argument_in_rego();
                format!("any<array[{of}], set[{of}]>")
            }
            Self::Map(of) => format!("object[string: {}]", of.argument_in_rego()),
            Self::Either(one, other) => {
                format!("any<{}, {}>", one.argument_in_rego(), other.argument_in_rego())
            }
            Self::Object(fields) => {
                let mut others = std::collections::BTreeSet::new();
                for field in fields.iter().filter(|field| !field.required) {
                    field.ty.alternatives(&mut others);
                }
                let others = match others.len() {
                    0 => "any".to_owned(),
                    _ => others.into_iter().collect::<Vec<_>>().join(" | "),
                };
                let required: Vec<String> = fields
                    .iter()
                    .filter(|field| field.required)
                    .map(|field| format!("{}: {}", field.name, field.ty.argument_in_rego()))
                    .collect();
                let required = match required.as_slice() {
                    [] => String::new(),
                    required => format!("<{}>", required.join(", ")),
                };
                format!("object{required}[string: {others}]")
            }
            scalar => scalar.scalar_in_rego().to_owned(),
        }
    }

    /// Adds the types that an argument of this type may have.
    fn alternatives(self, out: &mut std::collections::BTreeSet<String>) {
        match self {
            Self::Array(of) => {
                let of = of.argument_in_rego();
                out.extend([format!("array[{of}]"), format!("set[{of}]")]);
            }
            Self::Either(one, other) => {
                one.alternatives(out);
                other.alternatives(out);
            }
            other => {
                out.insert(other.argument_in_rego());
            }
        }
    }

    fn write_result(self, out: &mut String, objects: u32) {
        let within = |out: &mut String, open: &str, ty: Self, close: &str| {
            out.push_str(open);
            ty.write_result(out, objects);
            out.push_str(close);
        };
        match self {
            Self::Array(of) => within(out, "array[", *of, "]"),
            Self::Map(of) => within(out, "object[string: ", *of, "]"),
            Self::Either(one, other) => {
                within(out, "any<", *one, ", ");
                within(out, "", *other, ">");
            }
            Self::Object(fields) => {
                out.push_str("object");
                if let Some(objects) = objects.checked_sub(1) {
                    for (index, field) in fields.iter().enumerate() {
                        out.push_str(if index == 0 { "<" } else { ", " });
                        out.push_str(field.name);
                        out.push_str(": ");
                        field.ty.write_result(out, objects);
                    }
                    out.push('>');
                }
                out.push_str("[string: any]");
            }
            scalar => out.push_str(scalar.scalar_in_rego()),
        }
    }

    /// Returns the type of a scalar: the checker has one for all strings, and one for all numbers.
    const fn scalar_in_rego(self) -> &'static str {
        match self {
            Self::String | Self::Digest | Self::Uuid | Self::Timestamp | Self::Count => "string",
            Self::Boolean => "boolean",
            Self::Integer | Self::Number => "number",
            Self::Null => "null",
            Self::Any | Self::Array(_) | Self::Map(_) | Self::Object(_) | Self::Either(..) => "any",
        }
    }
}

/// Describes a value's type for messages: `a string`, `an object`.
pub fn describe(value: &rego::Value) -> &'static str {
    use rego::Value;
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Set(_) => "a set",
        Value::Object(_) => "an object",
    }
}

/// Returns `true` if `key` is the documented `name`, in `camelCase` or `snake_case`.
pub fn same_name(name: &str, key: &str) -> bool {
    fn canonical(text: &str) -> impl Iterator<Item = char> + '_ {
        let mut upper = false;
        text.chars().filter_map(move |c| {
            if c == '_' {
                upper = true;
                None
            } else if std::mem::take(&mut upper) {
                Some(c.to_ascii_uppercase())
            } else {
                Some(c)
            }
        })
    }
    name == key
        || (!key.starts_with('_') && !key.ends_with('_') && canonical(name).eq(canonical(key)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::resources::{Framework, Section};

    static LISTS: [Type; 2] =
        [Type::Array(&Type::Object(&Section)), Type::Array(&Type::Object(&Section))];

    #[test]
    fn recursive_types_can_be_compared_and_shown() {
        let (section, framework) = (Type::Object(&Section), Type::Object(&Framework));
        assert!(section == Type::Object(&Section) && section != framework);
        assert!(LISTS[0] == LISTS[1] && LISTS[0] != section);
        assert!(Type::Integer == Type::Integer && Type::Integer != Type::Count);
        let fields: &[Field] = &Framework;
        assert!(fields == Framework.as_slice());
        assert!(format!("{framework:?} {fields:?}").contains("sections"));
    }
}
