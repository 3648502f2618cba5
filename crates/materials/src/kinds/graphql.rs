//! `GRAPHQL_SPEC`: a schema in GraphQL's schema language. Policies can read none but those that begin with a
//! description, which is all that JSON sees of them.

mod lexer;

use lexer::{Lexer, Token};

use crate::file::File;
use crate::json;
use crate::material::{Content, Material, NotOfKind};

/// The deepest nesting of types and values.
const MAX_DEPTH: usize = 200;

/// The locations of directives.
const LOCATIONS: [&str; 19] = [
    "QUERY",
    "MUTATION",
    "SUBSCRIPTION",
    "FIELD",
    "FRAGMENT_DEFINITION",
    "FRAGMENT_SPREAD",
    "INLINE_FRAGMENT",
    "VARIABLE_DEFINITION",
    "SCHEMA",
    "SCALAR",
    "OBJECT",
    "FIELD_DEFINITION",
    "ARGUMENT_DEFINITION",
    "INTERFACE",
    "UNION",
    "ENUM",
    "ENUM_VALUE",
    "INPUT_OBJECT",
    "INPUT_FIELD_DEFINITION",
];

/// Reads a schema, whose types need not exist.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let text = String::from_utf8_lossy(file.bytes);
    let mut parser = Parser { lexer: Lexer::new(&text), token: Token::End, depth: 0 };
    let schema = parser.advance().and_then(|_| parser.document());
    let line = parser.lexer.line();
    let mut schema = schema.map_err(|error| format!("invalid schema at line {line}: {error}"))?;
    schema.directives.sort_unstable();
    let content = json::first(file.bytes).map(json::input);
    let content = content.map_or_else(Content::NotJson, Content::Input);
    Ok(Material::with(file, content)
        .annotate("graphql.type_count", schema.types.to_string())
        .annotate_text("graphql.directives", &schema.directives.join(",")))
}

/// The facts about a schema for annotations.
#[derive(Debug, Default)]
struct Schema<'a> {
    types: usize,
    directives: Vec<&'a str>,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    depth: usize,
}

type Parsed<T = ()> = Result<T, String>;

impl<'a> Parser<'a> {
    /// Returns the next token and reads the one behind it.
    fn advance(&mut self) -> Parsed<Token<'a>> {
        let token = self.token;
        self.token = self.lexer.next()?;
        Ok(token)
    }

    fn unexpected<T>(&self) -> Parsed<T> {
        Err(format!("unexpected {}", self.token))
    }

    /// Skips a sign, if it is next.
    fn skip(&mut self, sign: char) -> Parsed<bool> {
        let is_next = self.token == Token::Sign(sign);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn expect(&mut self, sign: char) -> Parsed {
        if self.skip(sign)? { Ok(()) } else { self.unexpected() }
    }

    fn name(&mut self) -> Parsed<&'a str> {
        let Token::Name(name) = self.token else { return self.unexpected() };
        self.advance()?;
        Ok(name)
    }

    fn keyword(&mut self, keyword: &str) -> Parsed<bool> {
        let is_next = self.token == Token::Name(keyword);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    /// Reads at least one item between signs; returns `false` if the first isn't next.
    fn some(&mut self, open: char, close: char, item: fn(&mut Self) -> Parsed) -> Parsed<bool> {
        if !self.skip(open)? {
            return Ok(false);
        }
        item(self)?;
        while !self.skip(close)? {
            item(self)?;
        }
        Ok(true)
    }

    /// Reads items between others, of which the first may precede them.
    fn separated(&mut self, by: char, item: fn(&mut Self) -> Parsed) -> Parsed {
        self.skip(by)?;
        item(self)?;
        while self.skip(by)? {
            item(self)?;
        }
        Ok(())
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn document(&mut self) -> Parsed<Schema<'a>> {
        let mut schema = Schema::default();
        while self.token != Token::End {
            let is_described = self.description()?;
            match self.token {
                Token::Name("schema") => {
                    self.advance()?;
                    self.directives(true)?;
                    self.some('{', '}', Self::operation_type)?;
                }
                Token::Name("directive") => schema.directives.push(self.directive_definition()?),
                Token::Name("extend") if !is_described => {
                    self.advance()?;
                    self.extension()?;
                }
                Token::Name(kind) if !matches!(kind, "extend") => {
                    self.definition(false)?;
                    schema.types += 1;
                }
                _ => return self.unexpected(),
            }
        }
        Ok(schema)
    }

    /// Reads a description; returns `true` if it isn't empty.
    fn description(&mut self) -> Parsed<bool> {
        let Token::Text { is_empty } = self.token else { return Ok(false) };
        self.advance()?;
        Ok(!is_empty)
    }

    fn operation_type(&mut self) -> Parsed {
        match self.advance()? {
            Token::Name("query" | "mutation" | "subscription") => {}
            other => return Err(format!("unexpected {other}")),
        }
        self.expect(':')?;
        self.name().map(drop)
    }

    fn extension(&mut self) -> Parsed {
        if self.keyword("schema")? {
            let has_directives = self.directives(true)?;
            let has_types = self.some('{', '}', Self::operation_type)?;
            return if has_directives || has_types { Ok(()) } else { self.unexpected() };
        }
        self.definition(true)
    }

    /// Reads the definition of a type, or what extends it by at least one thing.
    fn definition(&mut self, is_extension: bool) -> Parsed {
        let Token::Name(kind) = self.advance()? else { return self.unexpected() };
        let known = ["scalar", "type", "interface", "union", "enum", "input"];
        if !known.contains(&kind) {
            return Err(format!("unexpected `{kind}`"));
        }
        self.name()?;
        let has_interfaces = match kind {
            "type" => self.interfaces()?,
            "interface" if !is_extension => self.interfaces()?,
            _ => false,
        };
        let has_directives = self.directives(kind != "input" || !is_extension)?;
        let has_body = match kind {
            "type" | "interface" => self.some('{', '}', Self::field)?,
            "enum" => self.some('{', '}', Self::enum_value)?,
            "input" => self.some('{', '}', Self::input_value)?,
            "union" if self.skip('=')? => {
                self.separated('|', |parser| parser.name().map(drop))?;
                true
            }
            _ => false,
        };
        if is_extension && !(has_interfaces || has_directives || has_body) {
            return self.unexpected();
        }
        Ok(())
    }

    fn interfaces(&mut self) -> Parsed<bool> {
        let is_next = self.keyword("implements")?;
        if is_next {
            self.separated('&', |parser| parser.name().map(drop))?;
        }
        Ok(is_next)
    }

    fn field(&mut self) -> Parsed {
        self.description()?;
        self.name()?;
        self.some('(', ')', Self::input_value)?;
        self.expect(':')?;
        self.type_reference()?;
        self.directives(true).map(drop)
    }

    fn input_value(&mut self) -> Parsed {
        self.description()?;
        self.name()?;
        self.expect(':')?;
        self.type_reference()?;
        if self.skip('=')? {
            self.value(true)?;
        }
        self.directives(true).map(drop)
    }

    fn enum_value(&mut self) -> Parsed {
        self.description()?;
        self.name()?;
        self.directives(true).map(drop)
    }

    fn type_reference(&mut self) -> Parsed {
        if self.skip('[')? {
            self.deeper(Self::type_reference)?;
            self.expect(']')?;
        } else {
            self.name()?;
        }
        self.skip('!').map(drop)
    }

    fn directive_definition(&mut self) -> Parsed<&'a str> {
        self.advance()?;
        self.expect('@')?;
        let name = self.name()?;
        self.some('(', ')', Self::input_value)?;
        self.keyword("repeatable")?;
        if !self.keyword("on")? {
            return self.unexpected();
        }
        self.separated('|', |parser| match parser.name()? {
            name if LOCATIONS.contains(&name) => Ok(()),
            other => Err(format!("unexpected `{other}`")),
        })?;
        Ok(name)
    }

    /// Reads the directives of a definition; returns `false` if there are none.
    fn directives(&mut self, is_constant: bool) -> Parsed<bool> {
        let is_next = self.token == Token::Sign('@');
        while self.skip('@')? {
            self.name()?;
            let argument = if is_constant { Self::constant_member } else { Self::member };
            self.some('(', ')', argument)?;
        }
        Ok(is_next)
    }

    fn constant_member(&mut self) -> Parsed {
        self.member_of(true)
    }

    fn member(&mut self) -> Parsed {
        self.member_of(false)
    }

    fn member_of(&mut self, is_constant: bool) -> Parsed {
        self.name()?;
        self.expect(':')?;
        self.value(is_constant)
    }

    fn value(&mut self, is_constant: bool) -> Parsed {
        let (close, is_object) = match self.advance()? {
            Token::Sign('[') => (']', false),
            Token::Sign('{') => ('}', true),
            Token::Sign('$') if !is_constant => return self.name().map(drop),
            Token::Name(_) | Token::Number | Token::Text { .. } => return Ok(()),
            other => return Err(format!("unexpected {other}")),
        };
        self.deeper(|parser| {
            while !parser.skip(close)? {
                if is_object {
                    parser.member_of(is_constant)?;
                } else {
                    parser.value(is_constant)?;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rego::Value;

    use super::*;

    fn annotations(text: &str) -> Result<String, String> {
        let material = read(&File::new("s.graphql", text.as_bytes()));
        let material = material.map_err(|error| error.to_string())?;
        Ok(material.annotations.values().rev().map(Value::to_json).collect::<String>())
    }

    // What the parser of the vendor's client makes of each.
    #[test]
    fn schemas_are_counted() {
        for (text, expected) in [
            ("type Query { tide: Int }", r#""1""#),
            ("# none\n", r#""0""#),
            ("\u{feff},type A,type B", r#""2""#),
            ("directive @b on FIELD directive @a repeatable on | ENUM | UNION", r#""0""a,b""#),
            ("\"\"\"x \\\"\"\" y\"\"\"\" extend schema @a", ""),
            ("\"\" extend schema @a { query: Q } schema { query: Q }", r#""0""#),
            ("schema", r#""0""#),
            ("scalar A @a(b: [1 -2.5e3 \"\\u00e9\" {c: null}])", r#""1""#),
            ("type A implements & B & C @d { \"e\" f(g: [[H!]!]! = [] @i): J! }", r#""1""#),
            ("union A = | B | C union D", r#""2""#),
            ("enum A { B \"c\" D @e } input F { g: H = 1 } interface I implements J", r#""3""#),
            ("extend type A implements B extend input C @d(e: $f)", r#""0""#),
            ("type A { query: Int type: Int on: Int }", r#""1""#),
        ] {
            match annotations(text) {
                Ok(found) => assert_eq!(found, expected, "{text}"),
                Err(error) => assert_eq!((expected, error.is_empty()), ("", false), "{text}"),
            }
        }
        for text in [
            "query { tide }",
            "{ tide }",
            "type",
            "type A {}",
            "type A { b }",
            "type A { b: C",
            "type A { b(): C }",
            "type A implements",
            "type A { b(c: D = $e): F }",
            "union A =",
            "extend type A",
            "extend interface A implements B",
            "extend union A",
            "\"x\" extend type A @b",
            "directive @a",
            "directive @a on SEA",
            "directive a on FIELD",
            "scalar A @b()",
            "scalar A @b(c: 01)",
            "scalar A @b(c: 1.)",
            "scalar A @b(c: \"\n\")",
            "scalar A @b(c: \"\\x\")",
            "scalar A @b(c: '')",
            "scalar A ... B",
            "scalar é",
            "fragment A on B { c }",
            "schema {}",
            "schema { ferry: Q }",
            "\"open",
            "\"\"\"open",
        ] {
            assert!(annotations(text).is_err(), "{text}");
        }
        let deep = format!("scalar A @b(c: {})", "[".repeat(MAX_DEPTH + 1));
        assert_eq!(
            annotations(&deep).unwrap_err(),
            "invalid schema at line 1: nested more than 200 deep"
        );
    }
}
