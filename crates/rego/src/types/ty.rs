//! The types, with their operations: order, union, selection.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::value::Value;

/// The type of a term, a rule or a function.
///
/// [`Type::Unknown`] is the absence of a type: of a variable about which nothing is known yet, of
/// the elements of `set()`, of the part of an array or object that can't exist.
#[derive(Debug, Clone, Default)]
pub enum Type {
    /// No known type, or no type at all.
    #[default]
    Unknown,
    /// The type of `null`.
    Null,
    /// The type of `true` and `false`.
    Boolean,
    /// The type of all numbers, integers or not.
    Number,
    /// The type of all strings.
    String,
    /// `array<…>[…]`
    Array(Arc<Array>),
    /// `object<…>[…]`
    Object(Arc<Object>),
    /// `set[…]`
    Set(Arc<Type>),
    /// `any`, or one of several types, in order.
    Any(Arc<[Type]>),
    /// The type of something that can be called, and isn't a value.
    Function(Arc<Function>),
}

/// The type of an array.
#[derive(Debug, Clone, Default)]
pub struct Array {
    fixed: Vec<Type>,
    rest: Type,
    stats: TypeStats,
}

/// The type of an object.
#[derive(Debug, Clone, Default)]
pub struct Object {
    fixed: Vec<Property>,
    rest: Option<Dynamic>,
    stats: TypeStats,
}

/// Measurements of a type, made when it's created.
#[derive(Debug, Clone, Copy, Default)]
struct TypeStats {
    /// The number of types that it consists of; shared ones are counted each time.
    size: u32,
    /// The depth of their nesting.
    depth: u16,
    /// `true` if a part that must have a type has none.
    incomplete: bool,
}

/// The limits beyond which a type becomes `any`. Rules refer to rules, so types can grow faster
/// than the policy's text.
const MAX_SIZE: u32 = 1 << 20;
const MAX_DEPTH: u16 = 250;

impl TypeStats {
    fn of(parts: impl Iterator<Item = Self>) -> Self {
        parts.fold(Self { size: 1, depth: 1, incomplete: false }, |all, part| Self {
            size: all.size.saturating_add(part.size),
            depth: all.depth.max(part.depth.saturating_add(1)),
            incomplete: all.incomplete || part.incomplete,
        })
    }

    fn is_too_large(self) -> bool {
        self.size > MAX_SIZE || self.depth > MAX_DEPTH
    }
}

/// A member of an object, with a known key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Property {
    /// The key, which isn't and doesn't contain a set.
    pub key: Value,
    /// The type under that key.
    pub value: Type,
}

/// The members of an object whose keys aren't known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dynamic {
    /// The type of the keys.
    pub key: Type,
    /// The type of the values.
    pub value: Type,
}

/// The type of a function.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// The types of the arguments.
    pub args: Vec<Type>,
    /// The type of each further argument, if the function takes any number; otherwise unknown.
    pub variadic: Type,
    /// The type of the result; unknown if the function has none.
    pub result: Type,
}

impl Array {
    /// Creates an array type; `rest` is unknown if no further elements may follow.
    pub fn new(fixed: Vec<Type>, rest: Type) -> Self {
        let rest_stats = (!rest.is_unknown()).then(|| rest.stats());
        let stats = TypeStats::of(fixed.iter().map(Type::stats).chain(rest_stats));
        Self { fixed, rest, stats }
    }

    /// The types of the first elements.
    pub fn fixed(&self) -> &[Type] {
        &self.fixed
    }

    /// The type of the further elements; unknown if there can't be any.
    pub fn rest(&self) -> &Type {
        &self.rest
    }

    /// The type of the element at `index`.
    pub fn select(&self, index: usize) -> Type {
        self.fixed.get(index).unwrap_or(&self.rest).clone()
    }
}

impl Object {
    /// Creates an object type; the members may be in any order.
    pub fn new(mut fixed: Vec<Property>, rest: Option<Dynamic>) -> Self {
        fixed.sort_by(|a, b| a.key.cmp(&b.key));
        let rest_stats = rest.iter().flat_map(|item| [item.key.stats(), item.value.stats()]);
        let stats =
            TypeStats::of(fixed.iter().map(|property| property.value.stats()).chain(rest_stats));
        Self { fixed, rest, stats }
    }

    /// The members with known keys, in the order of their keys.
    pub fn fixed(&self) -> &[Property] {
        &self.fixed
    }

    /// The other members that may exist.
    pub fn rest(&self) -> Option<&Dynamic> {
        self.rest.as_ref()
    }

    /// The type of the member `key`.
    pub fn select(&self, key: &Value) -> Type {
        // Merged schemas may have a key twice; the first wins.
        let at = self.fixed.partition_point(|property| property.key < *key);
        if let Some(found) = self.fixed.get(at).filter(|property| property.key == *key) {
            return found.value.clone();
        }
        match &self.rest {
            Some(rest) if rest.key.contains(&Type::of(key)) => rest.value.clone(),
            _ => Type::Unknown,
        }
    }
}

impl Function {
    /// The type of argument `index`, from 0; unknown if there is none.
    pub fn arg(&self, index: usize) -> &Type {
        self.args.get(index).unwrap_or(&self.variadic)
    }

    /// The union of two functions; `None` if their numbers of arguments differ.
    fn union(&self, other: &Self) -> Option<Self> {
        if self.args.len() != other.args.len()
            || self.variadic.is_unknown() != other.variadic.is_unknown()
        {
            return None;
        }
        Some(Self {
            args: self.args.iter().zip(&other.args).map(|(a, b)| a.or(b)).collect(),
            variadic: self.variadic.or(&other.variadic),
            result: self.result.or(&other.result),
        })
    }
}

impl Type {
    /// The type of every value, a union without members.
    pub fn any() -> Self {
        static ANY: std::sync::OnceLock<Arc<[Type]>> = std::sync::OnceLock::new();
        Self::Any(Arc::clone(ANY.get_or_init(|| Arc::new([]))))
    }

    /// The union of `of`, or `any` if that is empty. The types aren't merged.
    pub fn any_of(mut of: Vec<Self>) -> Self {
        of.sort();
        Self::limited(Self::Any(of.into()))
    }

    /// `set[of]`
    pub fn set(of: Self) -> Self {
        Self::limited(Self::Set(Arc::new(of)))
    }

    /// An array type.
    pub fn array(fixed: Vec<Self>, rest: Self) -> Self {
        Self::limited(Self::Array(Arc::new(Array::new(fixed, rest))))
    }

    /// An object type; the members may be in any order.
    pub fn object(fixed: Vec<Property>, rest: Option<Dynamic>) -> Self {
        Self::limited(Self::Object(Arc::new(Object::new(fixed, rest))))
    }

    /// `object[key: value]`
    pub fn object_of(key: Self, value: Self) -> Self {
        Self::object(Vec::new(), Some(Dynamic { key, value }))
    }

    /// A function type.
    pub fn function(args: Vec<Self>, result: Self) -> Self {
        Self::Function(Arc::new(Function { args, variadic: Self::Unknown, result }))
    }

    fn limited(self) -> Self {
        if self.stats().is_too_large() { Self::any() } else { self }
    }

    fn stats(&self) -> TypeStats {
        match self {
            Self::Array(array) => array.stats,
            Self::Object(object) => object.stats,
            Self::Set(of) => TypeStats::of([of.stats()].into_iter()),
            Self::Any(of) => {
                TypeStats { incomplete: false, ..TypeStats::of(of.iter().map(Self::stats)) }
            }
            Self::Function(function) => {
                TypeStats::of(function.args.iter().chain([&function.result]).map(Self::stats))
            }
            Self::Unknown => TypeStats { size: 1, depth: 1, incomplete: true },
            _ => TypeStats { size: 1, depth: 1, incomplete: false },
        }
    }

    /// Returns `true` if the type consists of more types than `size`; shared ones are counted each
    /// time.
    pub fn is_larger_than(&self, size: u32) -> bool {
        self.stats().size > size
    }

    /// Returns `true` if this is the absence of a type.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Returns `true` if this is `any` and not a union.
    pub fn is_any(&self) -> bool {
        matches!(self, Self::Any(of) if of.is_empty())
    }

    /// The type of a value. Sets become arrays, as they do in OPA's checker for keys and constants.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(array) => Self::array(array.iter().map(Self::of).collect(), Self::Unknown),
            Value::Set(set) => Self::array(set.iter().map(Self::of).collect(), Self::Unknown),
            Value::Object(object) => Self::object(
                object
                    .iter()
                    .map(|(key, value)| Property { key: key.clone(), value: Self::of(value) })
                    .collect(),
                None,
            ),
        }
    }

    /// Returns `true` if this type covers `other`: equals it, or is a union that contains it.
    pub fn contains(&self, other: &Self) -> bool {
        match self {
            Self::Any(of) => any_contains(of, other),
            _ => self == other,
        }
    }

    /// The union of both types, or one of them if it covers the other. Unknown if one is a function
    /// and the other isn't.
    pub fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Unknown, known) | (known, Self::Unknown) => known.clone(),
            (Self::Function(a), Self::Function(b)) => {
                a.union(b).map_or(Self::Unknown, |union| Self::Function(Arc::new(union)))
            }
            (Self::Function(_), _) | (_, Self::Function(_)) => Self::Unknown,
            (Self::Any(a), Self::Any(b)) => any_union(a, b),
            (Self::Any(a), b) | (b, Self::Any(a)) => any_with(a, b),
            (a, b) if a == b => a.clone(),
            (a, b) => Self::any_of(vec![a.clone(), b.clone()]),
        }
    }

    /// The type that a reference selects with the constant operand `key`.
    pub fn select(&self, key: &Value) -> Self {
        match self {
            Self::Array(array) => {
                key.as_number().and_then(index).map_or(Self::Unknown, |index| array.select(index))
            }
            Self::Object(object) => object.select(key),
            Self::Set(of) => {
                let tpe = Self::of(key);
                match &**of {
                    of if *of == tpe => of.clone(),
                    Self::Any(of) if any_contains(of, &tpe) => tpe,
                    _ => Self::Unknown,
                }
            }
            Self::Any(of) if of.is_empty() => Self::any(),
            Self::Any(of) => {
                of.iter().fold(Self::Unknown, |tpe, option| option.select(key).or(&tpe))
            }
            _ => Self::Unknown,
        }
    }

    /// The type of the keys over which a reference iterates: indexes of an array, elements of a set.
    pub fn keys(&self) -> Self {
        match self {
            Self::Array(_) => Self::Number,
            Self::Object(object) => {
                let fixed = object
                    .fixed
                    .iter()
                    .fold(Self::Unknown, |tpe, property| tpe.or(&Self::of(&property.key)));
                object.rest.as_ref().map_or(fixed.clone(), |rest| fixed.or(&rest.key))
            }
            Self::Set(of) => (**of).clone(),
            Self::Any(of) if of.is_empty() => Self::any(),
            Self::Any(of) => of.iter().fold(Self::Unknown, |tpe, option| option.keys().or(&tpe)),
            _ => Self::Unknown,
        }
    }

    /// The type of the values over which a reference iterates.
    pub fn values(&self) -> Self {
        match self {
            Self::Array(array) => {
                let all = array.fixed.iter().chain([&array.rest]);
                all.fold(Self::Unknown, |tpe, element| tpe.or(element))
            }
            Self::Object(object) => {
                let fixed = object.fixed.iter().map(|property| &property.value);
                let all = fixed.chain(object.rest.iter().map(|rest| &rest.value));
                all.fold(Self::Unknown, |tpe, value| tpe.or(value))
            }
            Self::Set(of) => (**of).clone(),
            Self::Any(of) if of.is_empty() => Self::any(),
            Self::Any(of) => of.iter().fold(Self::Unknown, |tpe, option| option.values().or(&tpe)),
            _ => Self::Unknown,
        }
    }

    /// Returns `true` if a part that must have a type has none.
    pub fn is_incomplete(&self) -> bool {
        self.stats().incomplete
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Null => 1,
            Self::Boolean => 2,
            Self::Number => 3,
            Self::String => 4,
            Self::Array(_) => 5,
            Self::Object(_) => 6,
            Self::Set(_) => 7,
            Self::Any(_) => 8,
            Self::Function(_) => 9,
        }
    }
}

/// The value of a number as an index, if it's written as a plain integer.
fn index(number: &crate::value::Number) -> Option<usize> {
    number.as_usize().filter(|_| number.is_integer_text())
}

fn any_contains(of: &[Type], other: &Type) -> bool {
    !matches!(other, Type::Function(_)) && (of.is_empty() || of.binary_search(other).is_ok())
}

fn any_with(of: &Arc<[Type]>, other: &Type) -> Type {
    if any_contains(of, other) {
        return Type::Any(Arc::clone(of));
    }
    let at = of.partition_point(|member| member < other);
    let mut all = of.to_vec();
    all.insert(at, other.clone());
    Type::limited(Type::Any(all.into()))
}

fn any_union(a: &Arc<[Type]>, b: &Arc<[Type]>) -> Type {
    if a.is_empty() {
        return Type::Any(Arc::clone(a));
    }
    if b.is_empty() || Arc::ptr_eq(a, b) {
        return Type::Any(Arc::clone(b));
    }
    let mut all = Vec::with_capacity(a.len().max(b.len()));
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
        match l.cmp(r) {
            Ordering::Less => all.extend(left.next().cloned()),
            Ordering::Greater => all.extend(right.next().cloned()),
            Ordering::Equal => {
                all.extend(left.next().cloned());
                right.next();
            }
        }
    }
    all.extend(left.cloned());
    all.extend(right.cloned());
    Type::limited(Type::Any(all.into()))
}

impl Ord for Type {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Self::Object(a), Self::Object(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Self::Set(a), Self::Set(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Self::Any(a), Self::Any(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Self::Array(a), Self::Array(b)) => {
                a.rest.cmp(&b.rest).then_with(|| a.fixed.cmp(&b.fixed))
            }
            (Self::Object(a), Self::Object(b)) => {
                a.rest.cmp(&b.rest).then_with(|| a.fixed.cmp(&b.fixed))
            }
            (Self::Set(a), Self::Set(b)) => a.cmp(b),
            (Self::Any(a), Self::Any(b)) => a.cmp(b),
            (Self::Function(a), Self::Function(b)) => a
                .args
                .len()
                .cmp(&b.args.len())
                .then_with(|| a.args.cmp(&b.args))
                .then_with(|| a.result.cmp(&b.result))
                .then_with(|| a.variadic.cmp(&b.variadic)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for Type {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Type {}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("???"),
            Self::Null => f.write_str("null"),
            Self::Boolean => f.write_str("boolean"),
            Self::Number => f.write_str("number"),
            Self::String => f.write_str("string"),
            Self::Array(array) => {
                f.write_str("array")?;
                list(f, "<", &array.fixed, ">")?;
                if array.rest.is_unknown() { Ok(()) } else { write!(f, "[{}]", array.rest) }
            }
            Self::Object(object) => {
                f.write_str("object")?;
                list(f, "<", &object.fixed, ">")?;
                object
                    .rest
                    .as_ref()
                    .map_or(Ok(()), |rest| write!(f, "[{}: {}]", rest.key, rest.value))
            }
            Self::Set(of) if of.is_unknown() => f.write_str("set"),
            Self::Set(of) => write!(f, "set[{of}]"),
            Self::Any(of) => {
                f.write_str("any")?;
                list(f, "<", of, ">")
            }
            Self::Function(function) => {
                f.write_str("(")?;
                list(f, "", &function.args, "")?;
                if !function.variadic.is_unknown() {
                    if !function.args.is_empty() {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}...", function.variadic)?;
                }
                write!(f, ") => {}", function.result)
            }
        }
    }
}

fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    items: &[T],
    close: &str,
) -> fmt::Result {
    let Some((first, others)) = items.split_first() else { return Ok(()) };
    write!(f, "{open}{first}")?;
    for item in others {
        write!(f, ", {item}")?;
    }
    f.write_str(close)
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", DisplayKey(&self.key), self.value)
    }
}

/// Formats a key as OPA's messages do: a string without quotes, arrays and objects in Go's
/// notation.
pub(super) struct DisplayKey<'a>(pub(super) &'a Value);

impl fmt::Display for DisplayKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn spaced<'v>(
            f: &mut fmt::Formatter<'_>,
            items: impl Iterator<Item = &'v Value>,
        ) -> fmt::Result {
            f.write_str("[")?;
            for (at, item) in items.enumerate() {
                write!(f, "{}{}", if at > 0 { " " } else { "" }, DisplayKey(item))?;
            }
            f.write_str("]")
        }
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::Bool(boolean) => write!(f, "{boolean}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::String(text) => f.write_str(text),
            Value::Array(array) => spaced(f, array.iter()),
            Value::Set(set) => spaced(f, set.iter()),
            Value::Object(object) => {
                f.write_str("map[")?;
                for (at, (key, value)) in object.iter().enumerate() {
                    write!(
                        f,
                        "{}{}:{}",
                        if at > 0 { " " } else { "" },
                        DisplayKey(key),
                        DisplayKey(value)
                    )?;
                }
                f.write_str("]")
            }
        }
    }
}
