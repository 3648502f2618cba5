//! The parser of signatures; their grammar is documented in [`super`].

use std::fmt;

use super::ty::{Dynamic, Function, Property, Type};
use crate::value::Value;

/// A syntax error in a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureError {
    /// The expected token.
    expected: &'static str,
    /// The text at its place.
    rest: String,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at `{}`", self.expected, self.rest)
    }
}

impl std::error::Error for SignatureError {}

/// The maximum depth of nested types.
const MAX_DEPTH: usize = 64;

impl Function {
    /// Parses a signature.
    ///
    /// # Errors
    /// The text doesn't follow the grammar.
    pub fn parse(signature: &str) -> Result<Self, SignatureError> {
        let mut parser = Parser { rest: signature.trim_start(), depth: 0 };
        let mut function = Self::default();
        while !parser.take("->") {
            let tpe = parser.union()?;
            if parser.take("...") {
                function.variadic = tpe;
                parser.expect("->", "`->`")?;
                break;
            }
            function.args.push(tpe);
            if !parser.take(",") {
                parser.expect("->", "`,` or `->`")?;
                break;
            }
        }
        if !parser.rest.is_empty() {
            function.result = parser.union()?;
        }
        if parser.rest.is_empty() { Ok(function) } else { Err(parser.error("the end")) }
    }
}

impl Type {
    /// Parses a type.
    ///
    /// # Errors
    /// The text doesn't follow the grammar.
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let tpe = parser.union()?;
        if parser.rest.is_empty() { Ok(tpe) } else { Err(parser.error("the end")) }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, expected: &'static str) -> SignatureError {
        SignatureError { expected, rest: self.rest.to_owned() }
    }

    fn take(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).is_some_and(|rest| {
            self.rest = rest.trim_start();
            true
        })
    }

    fn expect(&mut self, token: &str, name: &'static str) -> Result<(), SignatureError> {
        if self.take(token) { Ok(()) } else { Err(self.error(name)) }
    }

    fn word(&mut self) -> &'a str {
        let end =
            self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn union(&mut self) -> Result<Type, SignatureError> {
        let first = self.one()?;
        if !self.take("|") {
            return Ok(first);
        }
        let mut of = vec![first, self.one()?];
        while self.take("|") {
            of.push(self.one()?);
        }
        Ok(Type::any_of(of))
    }

    fn one(&mut self) -> Result<Type, SignatureError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("fewer nested types"));
        }
        let before = self.rest;
        let tpe = match self.word() {
            "any" => Type::any_of(self.list(Self::union)?),
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "number" => Type::Number,
            "string" => Type::String,
            "array" => {
                let fixed = self.list(Self::union)?;
                Type::array(fixed, self.bracketed(Self::union)?.unwrap_or_default())
            }
            "set" => Type::set(self.bracketed(Self::union)?.unwrap_or_default()),
            "object" => {
                let fixed = self.list(Self::property)?;
                Type::object(fixed, self.bracketed(Self::dynamic)?)
            }
            _ => {
                self.rest = before;
                return Err(self.error("a type"));
            }
        };
        self.depth -= 1;
        Ok(tpe)
    }

    fn list<T>(
        &mut self,
        item: fn(&mut Self) -> Result<T, SignatureError>,
    ) -> Result<Vec<T>, SignatureError> {
        let mut items = Vec::new();
        if self.take("<") {
            items.push(item(self)?);
            while self.take(",") {
                items.push(item(self)?);
            }
            self.expect(">", "`,` or `>`")?;
        }
        Ok(items)
    }

    fn bracketed<T>(
        &mut self,
        item: fn(&mut Self) -> Result<T, SignatureError>,
    ) -> Result<Option<T>, SignatureError> {
        if !self.take("[") {
            return Ok(None);
        }
        let item = item(self)?;
        self.expect("]", "`]`")?;
        Ok(Some(item))
    }

    fn property(&mut self) -> Result<Property, SignatureError> {
        let key = Value::from(self.word());
        self.expect(":", "`:`")?;
        Ok(Property { key, value: self.union()? })
    }

    fn dynamic(&mut self) -> Result<Dynamic, SignatureError> {
        let key = self.union()?;
        self.expect(":", "`:`")?;
        Ok(Dynamic { key, value: self.union()? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_signature_is_printed_as_opa_prints_it() {
        for (text, shown) in [
            ("string, array[string] -> string", "(string, array[string]) => string"),
            ("->number", "() => number"),
            ("any... ->", "(any...) => ???"),
            (
                "number | set[any], any<string> -> array<any, null>[any]",
                "(any<number, set[any]>, any<string>) => array<any, null>[any]",
            ),
            (
                "object<op: string, path: any>[any: any | null] -> boolean",
                "(object<op: string, path: any>[any: any<null, any>]) => boolean",
            ),
        ] {
            assert_eq!(Type::Function(Arc::new(Function::parse(text).unwrap())).to_string(), shown);
        }
        for text in
            ["string", "string ->, ", "strin -> any", "array[string -> any", "any..., any -> any"]
        {
            assert!(Function::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn built_in_functions_have_opas_types() {
        let table: Vec<String> = crate::builtins::all()
            .iter()
            .map(|builtin| {
                format!(
                    "{}: {}",
                    builtin.name,
                    Type::Function(Arc::new(Function::parse(builtin.signature).unwrap()))
                )
            })
            .collect();
        let opa: Vec<&str> = include_str!("opa-signatures.txt").lines().collect();
        assert_eq!(table, opa);
    }
}
