//! The text of a template: its literals, with the source of what is between them.

use hcl_edit::expr::Expression;
use hcl_edit::template::{Directive, Element, HeredocTemplate, Strip, Template};

use super::source::Source;

/// Returns the expression that is all of a template: its value is that of the template.
pub(super) fn only(template: &Template) -> Option<&Expression> {
    match template.as_single_element()? {
        Element::Interpolation(own) => Some(&own.expr),
        _ => None,
    }
}

pub(super) fn text(source: &Source<'_>, template: &Template) -> Result<String, String> {
    let mut pieces = Pieces::new(source, false);
    pieces.template(template)?;
    Ok(pieces.joined())
}

/// Returns the text of a here-document; after `<<-` the indentation that its lines share is removed.
pub(super) fn here_document(source: &Source<'_>, own: &HeredocTemplate) -> Result<String, String> {
    let mut pieces = Pieces::new(source, true);
    pieces.template(&own.template)?;
    if source.of(own).starts_with("<<-") {
        pieces.dedent();
    }
    Ok(pieces.joined())
}

/// A part of a template: text, within a line of a here-document, or what is between texts.
enum Piece {
    Text(String),
    Code(String),
}

struct Pieces<'s, 't> {
    source: &'s Source<'t>,
    /// `true` for a here-document, whose lines are pieces, as they are written.
    is_document: bool,
    all: Vec<Piece>,
    /// `true` if `~` is before the next piece.
    strips_next: bool,
}

impl<'s, 't> Pieces<'s, 't> {
    fn new(source: &'s Source<'t>, is_document: bool) -> Self {
        Self { source, is_document, all: Vec::new(), strips_next: false }
    }

    fn template(&mut self, template: &Template) -> Result<(), String> {
        for element in template {
            match element {
                Element::Literal(own) if self.is_document => {
                    for line in self.source.of(own).split_inclusive('\n') {
                        self.text(line);
                    }
                }
                Element::Literal(own) => self.text(&literal(own.as_str())),
                Element::Interpolation(own) => {
                    let code = part(self.source, &own.expr)?;
                    self.code(code, own.strip);
                }
                Element::Directive(own) => self.directive(own)?,
            }
        }
        Ok(())
    }

    fn directive(&mut self, directive: &Directive) -> Result<(), String> {
        match directive {
            Directive::If(own) => {
                let condition = self.source.of(&own.if_expr.cond_expr);
                self.code(format!("%{{if {condition}}}"), own.if_expr.strip);
                self.template(&own.if_expr.template)?;
                if let Some(other) = &own.else_expr {
                    self.code("%{else}".to_owned(), other.strip);
                    self.template(&other.template)?;
                }
                self.code("%{endif}".to_owned(), own.endif_expr.strip);
            }
            Directive::For(own) => {
                let first = &own.for_expr;
                let key = first.key_var.as_ref();
                let key = key.map_or(String::new(), |key| format!("{}, ", key.as_str()));
                let list = self.source.of(&first.collection_expr);
                let code = format!("%{{for {key}{} in {list}}}", first.value_var.as_str());
                self.code(code, first.strip);
                self.template(&first.template)?;
                self.code("%{endfor}".to_owned(), own.endfor_expr.strip);
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        let strips = std::mem::take(&mut self.strips_next);
        let text = if strips { text.trim_start() } else { text };
        self.all.push(Piece::Text(text.to_owned()));
    }

    fn code(&mut self, code: String, strip: Strip) {
        if strip.strip_start()
            && let Some(Piece::Text(text)) = self.all.last_mut()
        {
            text.truncate(text.trim_end().len());
        }
        self.strips_next = strip.strip_end();
        self.all.push(Piece::Code(code));
    }

    /// Removes from the lines as many blanks as the one has that begins with the fewest; a blank line stays.
    fn dedent(&mut self) {
        let mut begins_line = true;
        let mut fewest = usize::MAX;
        let mut indented = Vec::new();
        for piece in &mut self.all {
            let begins = std::mem::take(&mut begins_line);
            match piece {
                Piece::Text(text) => {
                    begins_line = text.ends_with('\n');
                    if begins && !(begins_line && text.trim().is_empty()) {
                        let blanks = text.chars().take_while(|c| c.is_whitespace()).count();
                        fewest = fewest.min(blanks);
                        indented.push(text);
                    }
                }
                Piece::Code(_) if begins => fewest = 0,
                Piece::Code(_) => {}
            }
        }
        for text in indented {
            *text = text.chars().skip(fewest).collect();
        }
    }

    fn joined(self) -> String {
        let texts = self.all.into_iter().map(|piece| match piece {
            Piece::Text(text) | Piece::Code(text) => text,
        });
        texts.collect()
    }
}

/// Returns the text of a literal as a template has it: `${` in it isn't the source of an expression.
pub(super) fn literal(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// Returns the text of an expression within a template.
pub(super) fn part(source: &Source<'_>, expression: &Expression) -> Result<String, String> {
    Ok(match expression {
        Expression::String(own) => literal(own.as_str()),
        Expression::Null(_) => "null".to_owned(),
        Expression::Bool(own) => own.value().to_string(),
        Expression::Number(own) => source.number(own)?.to_json(),
        Expression::StringTemplate(own) => text(source, own)?,
        Expression::HeredocTemplate(own) => here_document(source, own)?,
        Expression::Conditional(own) => {
            let condition = source.of(&own.cond_expr);
            let (yes, no) = (part(source, &own.true_expr)?, part(source, &own.false_expr)?);
            format!("%{{if {condition}}}{yes}%{{else}}{no}%{{endif}}")
        }
        _ => source.quoted(expression),
    })
}
