//! Writes the layout, line by line.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::compare;
use super::super::print::{
    begins_with_brace, escape_braces, not_needs_parens as not_needs_parens_plain, quote,
};
use super::super::token::Keywords;
use super::super::tree::{
    Body, Collection, Comprehension, Every, Expr, ExprKind, FileId, Head, Import, Module, Name,
    Not, Package, Rule, SomeDecl, Span, Template, TemplatePart, Term, TermKind, Version, With,
};
use super::super::visit::{is_ground, walk_terms};
use super::super::words::infix;
use super::{ImportLine, arity_problem, may_follow_dot};
use crate::problem::{Problem, Problems, Source};
use crate::value::deeper;

/// The options that determine between alternative forms.
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Style {
    /// `true` to write elements of sets with `contains`.
    pub(super) contains: bool,
    /// `true` to write bodies with `if`.
    pub(super) ifs: bool,
    /// `true` if a head is a reference with more than one operand.
    pub(super) ref_heads: bool,
    pub(super) v1: bool,
    pub(super) v2: bool,
    /// The version whose keywords need brackets in references.
    pub(super) keywords: Version,
    /// The imported keywords.
    pub(super) future: Vec<Name>,
    /// `true` to depart from OPA's text where it loses parentheses or modifiers.
    pub(super) keep_meaning: bool,
    /// `true` to write the author's parentheses around operands, and no others.
    pub(super) own_parens: bool,
}

/// A position in the author's text.
#[derive(Clone, Copy, Debug)]
struct Loc {
    row: i64,
    column: i64,
    /// The first byte of the node; its text may begin earlier, with parentheses.
    offset: usize,
    start: usize,
    end: usize,
}

#[derive(Clone)]
struct Note {
    row: i64,
    column: i64,
    text: Rc<str>,
}

/// Comments, of which the first ones are done.
#[derive(Clone)]
struct Notes {
    all: Rc<Vec<Note>>,
    from: usize,
}

impl Notes {
    fn none() -> Self {
        Self { all: Rc::new(Vec::new()), from: 0 }
    }

    fn rest(&self) -> &[Note] {
        self.all.get(self.from..).unwrap_or_default()
    }

    /// Splits the comments: those before a row, the last one in it, and those after it.
    fn split(&self, row: i64) -> (&[Note], Option<Note>, Self) {
        let rest = self.rest();
        let before = rest.partition_point(|note| note.row < row);
        let behind = rest.partition_point(|note| note.row <= row);
        let at = if behind > before { rest.get(behind - 1).cloned() } else { None };
        let after = Self { all: Rc::clone(&self.all), from: self.from + behind };
        (rest.get(..before).unwrap_or_default(), at, after)
    }
}

/// The reason for which a node can't be laid out.
#[derive(Debug)]
enum Failure {
    /// A comment is at a position that the layout doesn't have.
    Comment,
    /// Anything else.
    Other(String),
}

type WriteResult = Result<(), Failure>;

/// Returns on failure, without the remaining comments.
macro_rules! or_drop {
    ($writer:ident, $result:expr) => {{
        let result = $result;
        if result.is_err() {
            $writer.comments = Notes::none();
        }
        result
    }};
}

/// Accepts that a comment couldn't be placed.
fn unless_comment(result: WriteResult) -> WriteResult {
    match result {
        Err(Failure::Comment) => Ok(()),
        result => result,
    }
}

/// An element of a collection or body that is written in lines.
#[derive(Clone, Copy)]
enum Element<'t> {
    Term(&'t Term),
    Pair(&'t Term, &'t Term),
    Expr(&'t Expr),
}

/// An operand of `and` or `or`.
struct Operand<'t> {
    body: &'t Body,
    explicit: bool,
    parens: bool,
    brace: Loc,
}

struct LogicalStep<'t> {
    operator: &'static str,
    right: Operand<'t>,
    left_end_row: i64,
}

pub(super) struct Writer<'a> {
    text: &'a str,
    file: FileId,
    source: Source,
    style: Style,
    out: String,
    level: usize,
    inline: bool,
    /// The comment to write at the end of the line.
    before_end: Option<Note>,
    delay: bool,
    comment_on_final_line: bool,
    /// The expression to write in parentheses.
    paren_expr: Option<*const Expr>,
    paren_term: Option<*const Term>,
    /// Terms that are laid out as if they were at another position.
    moved: HashMap<*const Term, Loc>,
    problems: Problems,
    /// The comments that haven't been written yet.
    comments: Notes,
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The operator of a function, with the number of its operands.
fn operator(function: &Term) -> Option<(&'static str, usize)> {
    match function.to_string().as_str() {
        "internal.member_2" => Some(("in", 2)),
        "internal.member_3" => Some(("in", 3)),
        name => infix(name).map(|sign| (sign, 2)),
    }
}

fn is_union(terms: &[Term]) -> bool {
    matches!(terms.first(), Some(Term { kind: TermKind::Var(name), .. }) if &**name == "or")
}

fn is_union_call(term: &Term) -> bool {
    matches!(&term.ungrouped().kind, TermKind::Call(terms) if is_union(terms))
}

fn is_union_expr(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(terms) if terms.len() == 3 && is_union(terms))
}

fn is_group(term: &Term) -> bool {
    matches!(term.kind, TermKind::Group(_))
}

fn is_logical(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::And(_) | ExprKind::Or(_))
}

fn is_true(term: &Term) -> bool {
    matches!(term.ungrouped().kind, TermKind::Bool(true))
}

/// Returns `true` if a body is just `true`.
fn is_true_body(body: &Body) -> bool {
    match body.as_slice() {
        [only] => {
            !only.negated
                && only.with.is_empty()
                && matches!(&only.kind, ExprKind::Term(term) if is_true(term))
        }
        _ => false,
    }
}

fn is_set_expr(expr: &Expr) -> bool {
    !expr.negated
        && matches!(&expr.kind, ExprKind::Term(term)
            if matches!(term.ungrouped().kind, TermKind::Set(_)))
}

/// Returns `true` if an expression begins with a brace when operators are written in infix form.
fn leads_with_brace(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Term(term) => term_leads_with_brace(term),
        ExprKind::Call(terms) => match leading_operand(terms) {
            Some(operand) => term_leads_with_brace(operand),
            None => false,
        },
        _ => false,
    }
}

fn term_leads_with_brace(term: &Term) -> bool {
    match &term.ungrouped().kind {
        TermKind::Call(terms) => match terms.as_slice() {
            [function, first, ..]
                if operator(function).is_some_and(|(_, count)| terms.len() == count + 1) =>
            {
                deeper(|| term_leads_with_brace(first))
            }
            _ => false,
        },
        TermKind::Ref(parts) => parts.first().is_some_and(term_leads_with_brace),
        _ => begins_with_brace(term),
    }
}

/// The operand that is written first in the call of an operator, with or without a result.
fn leading_operand(terms: &[Term]) -> Option<&Term> {
    let (function, operands) = terms.split_first()?;
    let (_, count) = operator(function)?;
    if operands.len() == count {
        operands.first()
    } else if operands.len() == count + 1 {
        operands.last()
    } else {
        None
    }
}

fn not_needs_parens(expr: &Expr) -> bool {
    not_needs_parens_plain(expr) || leads_with_brace(expr)
}

fn operand_needs_parens(expr: &Expr, operator: &str, right: bool) -> bool {
    !expr.with.is_empty()
        || match &expr.kind {
            ExprKind::Or(_) => operator == "and" || right,
            ExprKind::And(_) => operator == "and" && right,
            _ => leads_with_brace(expr),
        }
}

/// Returns `true` if a reference has operands that aren't constant.
fn is_dynamic(reference: &[Term]) -> bool {
    reference.iter().skip(1).any(|part| !part.is_constant())
}

fn is_metadata(note: &Note) -> bool {
    let text = note.text.strip_prefix('#').unwrap_or(&note.text);
    note.column == 1 && text.trim().starts_with("METADATA")
}

impl<'a> Writer<'a> {
    pub(super) fn new(text: &'a str, source: Source, file: FileId, style: Style) -> Self {
        Self {
            text,
            file,
            source,
            style,
            out: String::new(),
            level: 0,
            inline: false,
            before_end: None,
            delay: false,
            comment_on_final_line: false,
            paren_expr: None,
            paren_term: None,
            moved: HashMap::new(),
            problems: Vec::new(),
            comments: Notes::none(),
        }
    }

    pub(super) fn finish(mut self) -> Result<String, Problems> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        if self.out.ends_with('\n') {
            let length = self.out.trim_end_matches('\n').len();
            self.out.truncate(length);
            self.out.push('\n');
        }
        Ok(self.out)
    }

    // Positions.

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn loc_text(&self, loc: Loc) -> &'a str {
        self.slice(loc.start, loc.end)
    }

    fn first_byte(&self, loc: Loc) -> Option<u8> {
        self.loc_text(loc).bytes().next()
    }

    fn at(&self, offset: usize, start: usize, end: usize) -> Loc {
        let (row, column) = self.source.line_column(u32::try_from(offset).unwrap_or(u32::MAX));
        Loc { row: i64::from(row), column: i64::from(column), offset, start, end }
    }

    fn span_loc(&self, span: Span) -> Loc {
        let (start, end) = (unsigned(span.start), unsigned(span.end));
        self.at(start, start, end)
    }

    /// The position of a term. As in OPA, its text includes parentheses and its position doesn't.
    fn loc(&self, term: &Term) -> Loc {
        if let Some(loc) = self.moved.get(&std::ptr::from_ref(term)) {
            return *loc;
        }
        let (start, end) = (unsigned(term.span.start), unsigned(term.span.end));
        // A long chain of operators isn't followed to its first operand for each of its parts.
        let first = match self.text.as_bytes().get(start) {
            Some(b'(') | None => leftmost(term),
            Some(_) => start,
        };
        self.at(first, text_start(term), end)
    }

    fn end_row(&self, loc: Loc) -> i64 {
        loc.row + self.lines_between(loc.start, loc.end)
    }

    /// The number of line breaks between two offsets.
    fn lines_between(&self, start: usize, end: usize) -> i64 {
        let row = |offset: usize| {
            i64::from(self.source.line_column(u32::try_from(offset).unwrap_or(u32::MAX)).0)
        };
        if start < end { row(end) - row(start) } else { 0 }
    }

    /// The row where the delimiters that open first in a text close, after those in `skip`; -1 if
    /// they don't.
    fn closing(&self, skip: Option<(u8, u8)>, open: u8, close: u8, loc: Loc) -> i64 {
        let bytes = self.loc_text(loc).as_bytes();
        let mut row = loc.row;
        let mut at = 0;
        if let Some((skip_open, skip_close)) = skip {
            let Some(first) = bytes.iter().position(|byte| *byte == skip_open) else { return -1 };
            match balanced(bytes, first, skip_open, skip_close) {
                Some((end, lines)) => {
                    at = end;
                    row += lines;
                }
                None => return -1,
            }
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(first) = rest.iter().position(|byte| *byte == open) else { return -1 };
        match balanced(bytes, at + first, open, close) {
            Some((_, lines)) => row + lines,
            None => -1,
        }
    }

    // Lines.

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn write_if(&mut self, condition: bool, text: &str) {
        if condition {
            self.write(text);
        }
    }

    fn start_line(&mut self) {
        self.inline = true;
        for _ in 0..self.level {
            self.out.push('\t');
        }
    }

    fn end_line(&mut self) {
        self.inline = false;
        if !self.delay
            && let Some(note) = self.before_end.take()
        {
            self.out.push(' ');
            self.out.push_str(&note.text);
        }
        self.delay = false;
        self.out.push('\n');
    }

    fn blank_line(&mut self) {
        if self.inline {
            self.end_line();
        }
        self.out.push('\n');
    }

    fn write_line(&mut self, text: &str) {
        if !self.inline {
            self.start_line();
        }
        self.write(text);
        self.end_line();
    }

    fn down(&mut self) {
        self.level = self.level.saturating_sub(1);
    }

    fn fail(&mut self, result: WriteResult) {
        if let Err(Failure::Other(message)) = result {
            let span = Span { file: self.file, start: 0, end: 0 };
            self.problems.push(Problem::parse(span, message));
        }
    }

    // Comments.

    fn notes(&mut self, notes: &[Note]) {
        let mut in_metadata = false;
        let mut previous: Option<&Note> = None;
        for note in notes {
            if let Some(previous) = previous {
                let distance = match note.row - previous.row {
                    0 => note.column - previous.column,
                    rows => rows,
                };
                if distance > 1 {
                    self.blank_line();
                    in_metadata = false;
                } else if distance == 1 && in_metadata && is_metadata(note) {
                    self.blank_line();
                }
            }
            in_metadata |= is_metadata(note);
            self.write_line(&Rc::clone(&note.text));
            previous = Some(note);
        }
    }

    /// Takes the comments before a row.
    fn notes_before(&mut self, row: i64) -> Vec<Note> {
        let before = self.comments.split(row).0.to_vec();
        self.comments.from += before.len();
        before
    }

    /// Writes the comments before a row, and keeps the one in it for the end of the line.
    fn insert(&mut self, row: i64) -> WriteResult {
        if self.comments.rest().is_empty() {
            return Ok(());
        }
        let comments = self.comments.clone();
        let (before, at, after) = comments.split(row);
        self.comments = after;
        self.notes(before);
        if before.last().is_some_and(|last| row - last.row > 1) {
            self.blank_line();
        }
        if self.before_end.is_some() && at.is_some() {
            self.before_end = None;
            return Err(Failure::Comment);
        }
        self.before_end = self.before_end.take().or(at);
        Ok(())
    }

    // Modules.

    pub(super) fn module(&mut self, module: &Module, imports: &[ImportLine]) {
        let result = self.module_parts(module, imports);
        self.fail(result);
    }

    fn module_parts(&mut self, module: &Module, imports: &[ImportLine]) -> WriteResult {
        let notes = module.comments.iter().map(|comment| {
            let loc = self.span_loc(comment.span);
            let text = comment.text.trim_end();
            Note { row: loc.row, column: loc.column, text: format!("#{text}").into() }
        });
        self.comments = Notes { all: Rc::new(notes.collect()), from: 0 };
        self.package(&module.package)?;
        let mut rules: Vec<(i64, &Rule)> =
            module.rules.iter().map(|rule| (self.span_loc(rule.span).row, rule)).collect();
        rules.sort_by_key(|(row, rule)| (*row, rule.span.start));
        let mut imports: Vec<&ImportLine> = imports.iter().collect();
        imports.sort_by_key(|placed| (placed.row, placed.import.span.start));
        // Imports after the first rule would have no effect.
        let first_rule = rules.first().map_or(i64::MAX, |(row, _)| *row);
        if imports.iter().any(|placed| placed.added && placed.row >= first_rule) {
            let (added, own) = imports.into_iter().partition(|placed: &&ImportLine| placed.added);
            imports = own;
            self.imports(&added)?;
        }
        let mut imports = imports.into_iter().peekable();
        let mut rules = rules.into_iter().peekable();
        while imports.peek().is_some() || rules.peek().is_some() {
            let place = |row: i64, span: Span| (row, span.start);
            let mut group = Vec::new();
            let first_rule = rules.peek().map(|(row, rule)| place(*row, rule.span));
            while let Some(import) = imports.next_if(|import| {
                first_rule.is_none_or(|rule| place(import.row, import.import.span) < rule)
            }) {
                group.push(import);
            }
            self.imports(&group)?;
            let mut group = Vec::new();
            let first_import = imports.peek().map(|import| place(import.row, import.import.span));
            while let Some((_, rule)) = rules.next_if(|(row, rule)| {
                first_import.is_none_or(|import| place(*row, rule.span) < import)
            }) {
                group.push(rule);
            }
            self.rules(&group);
        }
        let comments = self.comments.clone();
        for note in comments.rest() {
            self.write_line(&note.text);
        }
        self.write_if(!comments.rest().is_empty(), "\n");
        Ok(())
    }

    fn package(&mut self, package: &Package) -> WriteResult {
        let row = self.span_loc(package.span).row;
        self.insert(row)?;
        self.start_line();
        self.write("package ");
        if let Some((_, path)) = package.path.split_first()
            && let Some((first, rest)) = path.split_first()
        {
            if let TermKind::String(name) = &first.kind {
                self.write(name);
            }
            for part in rest {
                self.ref_operand(part)?;
            }
        }
        self.blank_line();
        Ok(())
    }

    fn imports(&mut self, imports: &[&ImportLine]) -> WriteResult {
        if imports.is_empty() {
            return Ok(());
        }
        let rows: Vec<i64> = imports.iter().map(|placed| placed.row).collect();
        let mut trailing: Vec<Option<Rc<str>>> = vec![None; imports.len()];
        let mut left = Vec::new();
        for note in self.comments.rest() {
            match rows.binary_search(&note.row) {
                Ok(index) => {
                    // Of several imports in one row, the first gets the comment.
                    let first = rows.partition_point(|row| *row < note.row).min(index);
                    if let Some(slot) = trailing.get_mut(first) {
                        *slot = Some(Rc::clone(&note.text));
                    }
                }
                Err(_) => left.push(note.clone()),
            }
        }
        self.comments = Notes { all: Rc::new(left), from: 0 };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut last = None;
        for (index, row) in rows.iter().enumerate() {
            match (groups.last_mut(), last) {
                (Some(group), Some(last)) if row - last <= 1 => group.push(index),
                _ => groups.push(vec![index]),
            }
            last = Some(*row);
        }
        for mut group in groups {
            let first = group.first().and_then(|index| rows.get(*index)).copied().unwrap_or(1);
            self.insert(first)?;
            group.sort_by(|a, b| match (imports.get(*a), imports.get(*b)) {
                (Some(a), Some(b)) => {
                    let alias = |import: &Import| {
                        import.alias.as_ref().map(|(name, _)| name.to_string()).unwrap_or_default()
                    };
                    compare::terms(&a.import.path, &b.import.path)
                        .then_with(|| alias(&a.import).cmp(&alias(&b.import)))
                }
                _ => std::cmp::Ordering::Equal,
            });
            for index in group {
                self.start_line();
                if let Some(placed) = imports.get(index) {
                    self.import(&placed.import);
                }
                if let Some(Some(note)) = trailing.get(index) {
                    self.write(&format!(" {note}"));
                }
                self.end_line();
            }
            self.blank_line();
        }
        Ok(())
    }

    fn import(&mut self, import: &Import) {
        self.write("import ");
        // Keywords are plain words in import paths.
        let keywords = self.style.keywords;
        let future = std::mem::take(&mut self.style.future);
        if super::future_keyword(import).is_some() {
            self.style.keywords = Version::V0;
        } else {
            self.style.future.clone_from(&future);
        }
        let path = import.path.ref_parts();
        if let Some((first, rest)) = path.split_first() {
            self.write(&first.to_string());
            for part in rest {
                // Its operands are strings, so that this neither fails nor writes comments.
                let _ = self.ref_operand(part);
            }
        }
        self.style.keywords = keywords;
        self.style.future = future;
        if let Some((alias, _)) = &import.alias {
            self.write(&format!(" as {alias}"));
        }
    }

    // Rules.

    fn rules(&mut self, rules: &[&Rule]) {
        for (index, rule) in rules.iter().enumerate() {
            let row = self.span_loc(rule.span).row;
            let result = self.insert(row);
            self.fail(result);
            let result = self.rule(rule, false);
            if result.is_err() {
                self.comments = Notes::none();
            }
            self.fail(result);
            if let Some(next) = rules.get(index + 1)
                && self.is_one_liner(rule)
                && self.is_one_liner(next)
                && self.span_loc(next.span).row == row + 1
            {
                continue;
            }
            self.blank_line();
        }
    }

    /// Returns `true` if no blank line is needed between this rule and the next.
    fn is_one_liner(&self, rule: &Rule) -> bool {
        rule.body.len() <= 1
            && !rule.default
            && rule.else_rule.is_none()
            && !rule.body.first().is_some_and(is_set_expr)
            && (self.style.v1 || self.style.ifs)
            && (self.style.contains || rule.head.value.is_some())
    }

    fn rule(&mut self, rule: &Rule, is_else: bool) -> WriteResult {
        if !is_else {
            self.start_line();
        }
        self.write_if(rule.default, "default ");
        // The body of a rule such as `p := 1` is `true`.
        let is_constant = is_true_body(&rule.body) && rule.else_rule.is_none();
        self.comment_on_final_line = is_constant;
        let head = self.head(rule, is_else, is_constant);
        let in_the_way = matches!(head, Err(Failure::Comment));
        unless_comment(head)?;
        if is_constant {
            self.end_line();
            return Ok(());
        }
        self.comment_on_final_line = true;
        let uses_if =
            (self.style.v1 || self.style.ifs) && (self.style.contains || rule.head.value.is_some());
        if uses_if {
            self.write(" if");
            if let [only] = rule.body.as_slice() {
                let head_end = self.end_row(self.span_loc(rule.head.span));
                if self.span_loc(only.span).row == head_end && !is_set_expr(only) {
                    self.write(" ");
                    unless_comment(self.expr(only))?;
                    self.end_line();
                    if let Some(next) = &rule.else_rule {
                        self.else_rule(rule, next)?;
                    }
                    return Ok(());
                }
            }
        }
        if in_the_way && !self.comments.rest().is_empty() {
            self.write(" { ");
        } else {
            self.write(" {");
            self.end_line();
        }
        if uses_if
            && !is_else
            && let Some(first) = rule.body.first()
        {
            self.mark_leading_union(first);
        }
        self.level += 1;
        unless_comment(self.body(&rule.body))?;
        let loc = self.span_loc(rule.span);
        let close = if !rule.head.args.is_empty() && !is_else {
            self.closing(Some((b'(', b')')), b'{', b'}', loc)
        } else if rule.head.key.is_some() {
            self.closing(Some((b'[', b']')), b'{', b'}', loc)
        } else {
            self.closing(None, b'{', b'}', loc)
        };
        self.insert(close)?;
        self.down();
        self.start_line();
        self.write("}");
        if let Some(next) = &rule.else_rule {
            self.else_rule(rule, next)?;
        }
        Ok(())
    }

    fn else_rule(&mut self, rule: &Rule, next: &Rule) -> WriteResult {
        let (outer, loc) = (self.span_loc(rule.span), self.span_loc(next.span));
        let row = usize::try_from(loc.row - outer.row).unwrap_or(0);
        let inline = row > 0
            && self
                .loc_text(outer)
                .split('\n')
                .nth(row)
                .is_some_and(|line| !line.trim().starts_with("else"));
        let head = self.span_loc(next.head.span);
        let comment_above = self.comments.rest().first().is_some_and(|note| note.row < head.row)
            || self.before_end.is_some();
        if !comment_above && inline {
            self.write(" ");
        } else {
            self.blank_line();
            self.start_line();
        }
        self.insert(head.row)?;
        if comment_above && !inline {
            self.start_line();
        }
        if let Some(value) = &next.head.value {
            self.moved.insert(std::ptr::from_ref(value), head);
        }
        deeper(|| self.rule(next, true))
    }

    fn head(&mut self, rule: &Rule, is_else: bool, is_constant: bool) -> WriteResult {
        let Head { reference, args, key, value, .. } = &rule.head;
        let loc = self.span_loc(rule.head.span);
        if is_else {
            or_drop!(self, self.insert(loc.row))?;
            self.write("else");
        } else {
            let mut path = reference.as_slice();
            if key.is_some() && value.is_none() && !is_dynamic(path) {
                let ground = path.iter().skip(1).take_while(|part| is_ground(part)).count() + 1;
                path = path.get(..ground).unwrap_or(path);
            }
            if self.style.ref_heads || path.len() == 1 {
                or_drop!(self, self.reference(path))?;
            } else if let [first, second, ..] = path {
                let row = self.loc(second).row;
                if self.comments.rest().first().is_some_and(|note| note.row == row) {
                    return self.unformatted(loc);
                }
                self.write(&format!("{first}[{second}]"));
            }
        }
        if !args.is_empty() && !is_else {
            let elements = args.iter().map(Element::Term).collect();
            self.collection(b'(', b')', elements, loc, false)?;
        }
        if let (Some(key), None) = (key, value) {
            if self.style.contains {
                self.write(" contains ");
                self.term(key)?;
            } else {
                self.write("[");
                self.term(key)?;
                self.write("]");
            }
        }
        let Some(value) = value else { return Ok(()) };
        if key.is_none() && is_true(value) && !is_constant && !rule.default {
            return Ok(());
        }
        let ref_constant = self.style.v1 && is_constant && key.is_none() && args.is_empty();
        if !is_else && is_true(value) && !ref_constant && self.is_implied(rule, value) {
            return Ok(());
        }
        self.write(if rule.head.assign || self.style.v1 { " := " } else { " = " });
        self.term(value)
    }

    /// Returns `true` if OPA gives a head's value `true` the position of the head, which means that
    /// it isn't written.
    fn is_implied(&self, rule: &Rule, value: &Term) -> bool {
        let head = &rule.head;
        value.span == head.span
            && (super::is_chained(rule, self.text)
                || !head.generated_value
                || rule.generated_body
                || head.reference.len() == 2 && head.args.is_empty())
    }

    // Bodies.

    fn body(&mut self, body: &Body) -> WriteResult {
        let Some(first) = body.first() else { return Ok(()) };
        let row = self.span_loc(first.span).row;
        self.insert(row)?;
        let mut last_row: Option<i64> = None;
        for expr in body {
            let loc = self.span_loc(expr.span);
            if last_row.is_some_and(|last| loc.row > last + 1) {
                self.blank_line();
            }
            last_row = Some(self.end_row(loc));
            self.start_line();
            let result = self.expr(expr);
            self.fail(result);
            self.end_line();
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr) -> WriteResult {
        deeper(|| self.expr_within(expr))
    }

    fn expr_within(&mut self, expr: &Expr) -> WriteResult {
        let parens = self.paren_expr.is_some_and(|marked| std::ptr::eq(marked, expr));
        if parens {
            self.paren_expr = None;
        }
        let loc = self.span_loc(expr.span);
        self.insert(loc.row)?;
        if !self.inline {
            self.start_line();
        }
        let negated_parens =
            expr.negated && (is_logical(expr) || self.style.v2 && leads_with_brace(expr));
        if expr.negated {
            self.write(if negated_parens { "not (" } else { "not " });
        }
        self.write_if(parens, "(");
        match &expr.kind {
            ExprKind::Some(some) => or_drop!(self, self.some(some))?,
            ExprKind::Every(every) => or_drop!(self, self.every(every, loc))?,
            ExprKind::Not(not) => or_drop!(self, self.not(not, loc))?,
            ExprKind::And(_) | ExprKind::Or(_) => or_drop!(self, self.logical(expr))?,
            ExprKind::Call(terms) => self.statement_call(terms)?,
            ExprKind::Term(term) => self.term(term)?,
        }
        self.write_if(parens, ")");
        self.write_if(negated_parens, ")");
        self.withs(expr, loc)
    }

    fn withs(&mut self, expr: &Expr, loc: Loc) -> WriteResult {
        let Some(first) = expr.with.first() else { return Ok(()) };
        let first = self.span_loc(first.span);
        let end = first.offset.clamp(loc.start, loc.end);
        let text = self.slice(loc.start, end).trim_end_matches([' ', '\t', '\r', '\n']);
        let mut last_row = loc.row + newlines(text);
        let mut withs = expr.with.as_slice();
        if first.row == last_row
            && let Some((with, rest)) = withs.split_first()
        {
            self.with(with, false)?;
            withs = rest;
        }
        let level = self.level;
        let result = withs.iter().try_for_each(|with| {
            let row = self.span_loc(with.span).row;
            let indent = row > last_row;
            if indent {
                self.level = level + 1;
                self.end_line();
                self.start_line();
                last_row = row;
            }
            self.with(with, indent)
        });
        self.level = level;
        result
    }

    fn with(&mut self, with: &With, indented: bool) -> WriteResult {
        let row = self.span_loc(with.span).row;
        or_drop!(self, self.insert(row))?;
        self.write(if indented { "with " } else { " with " });
        or_drop!(self, self.term(&with.target))?;
        self.write(" as ");
        unless_comment(self.term(&with.value))
    }

    fn some(&mut self, some: &SomeDecl) -> WriteResult {
        let mut row = self.span_loc(some.span).row;
        self.insert(row)?;
        self.write("some ");
        let count = some.symbols.len();
        for (index, term) in some.symbols.iter().enumerate() {
            match &term.ungrouped().kind {
                TermKind::Call(terms) => {
                    let Some((function, operands)) = terms.split_first() else { continue };
                    self.member(false, function, operands)?;
                }
                TermKind::Var(_) => {
                    let here = self.loc(term).row;
                    if here > row {
                        self.end_line();
                        self.start_line();
                        self.write("\t");
                        row = here;
                    } else if index > 0 {
                        self.write(" ");
                    }
                    self.term(term)?;
                    self.write_if(index + 1 < count, ",");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn every(&mut self, every: &Every, loc: Loc) -> WriteResult {
        self.insert(loc.row)?;
        self.write("every ");
        if let Some(key) = &every.key {
            self.term(key)?;
            self.write(", ");
        }
        self.term(&every.value)?;
        self.write(" in ");
        self.term(&every.domain)?;
        self.write(" {");
        let result = self.comprehension_body(Collection::Set, &every.body, loc, loc);
        unless_comment(result)?;
        if let [only] = every.body.as_slice()
            && self.span_loc(only.span).row == self.span_loc(every.span).row
        {
            self.write(" ");
        }
        self.write("}");
        Ok(())
    }

    fn not(&mut self, not: &Not, loc: Loc) -> WriteResult {
        self.insert(loc.row)?;
        self.write("not ");
        match not.body.as_slice() {
            [only] if !not.explicit => {
                let parens = not_needs_parens(only);
                self.write_if(parens, "(");
                unless_comment(self.expr(only))?;
                self.write_if(parens, ")");
            }
            _ => self.braced(&not.body, loc)?,
        }
        Ok(())
    }

    /// Writes a body in braces, the first of which is at `loc`.
    fn braced(&mut self, body: &Body, loc: Loc) -> WriteResult {
        if let Some(first) = body.first()
            && is_union_expr(first)
        {
            self.paren_expr = Some(std::ptr::from_ref(first));
        }
        self.write("{");
        unless_comment(self.comprehension_body(Collection::Set, body, loc, loc))?;
        let inline = body.last().is_some_and(|last| self.span_loc(last.span).row == loc.row);
        self.write(if inline { " }" } else { "}" });
        Ok(())
    }

    // `and`, `or`.

    fn logical(&mut self, expr: &Expr) -> WriteResult {
        let Some((first, steps)) = self.flatten(expr) else { return Ok(()) };
        unless_comment(self.operand(&first))?;
        let level = self.level;
        let result = steps.into_iter().try_for_each(|step| {
            self.write(&format!(" {}", step.operator));
            let start = if step.right.explicit {
                Some(step.right.brace.row)
            } else {
                step.right.body.first().map(|first| self.span_loc(first.span).row)
            };
            if start.is_some_and(|row| row > step.left_end_row) {
                self.level = level + 1;
                self.end_line();
                self.start_line();
            } else {
                self.write(" ");
            }
            unless_comment(self.operand(&step.right))
        });
        self.level = level;
        result
    }

    fn operand(&mut self, operand: &Operand<'_>) -> WriteResult {
        if operand.explicit {
            return self.braced(operand.body, operand.brace);
        }
        let Some(first) = operand.body.first() else { return Ok(()) };
        self.write_if(operand.parens, "(");
        let result = self.expr(first);
        self.write_if(operand.parens, ")");
        result
    }

    /// Flattens a chain of `and` and `or` into its operands.
    fn flatten<'t>(&self, expr: &'t Expr) -> Option<(Operand<'t>, Vec<LogicalStep<'t>>)> {
        let (name, logical) = match &expr.kind {
            ExprKind::And(logical) => ("and", logical),
            ExprKind::Or(logical) => ("or", logical),
            _ => return None,
        };
        let loc = self.span_loc(expr.span);
        let right = self.new_operand(&logical.right, logical.explicit_right, name, true, loc);
        if let [left] = logical.left.as_slice()
            && !logical.explicit_left
            && is_logical(left)
            && !operand_needs_parens(left, name, false)
        {
            let (first, mut steps) = deeper(|| self.flatten(left))?;
            let left_end_row = self.body_end_row(&logical.left);
            steps.push(LogicalStep { operator: name, right, left_end_row });
            return Some((first, steps));
        }
        let first = self.new_operand(&logical.left, logical.explicit_left, name, false, loc);
        let left_end_row = if first.explicit {
            match self.closing(None, b'{', b'}', first.brace) {
                row if row > 0 => row,
                _ => self.body_end_row(first.body),
            }
        } else {
            self.body_end_row(first.body)
        };
        Some((first, vec![LogicalStep { operator: name, right, left_end_row }]))
    }

    fn new_operand<'t>(
        &self,
        body: &'t Body,
        explicit: bool,
        operator: &str,
        right: bool,
        node: Loc,
    ) -> Operand<'t> {
        match body.as_slice() {
            [only] if !explicit => {
                let parens = operand_needs_parens(only, operator, right);
                Operand { body, explicit: false, parens, brace: node }
            }
            _ => Operand { body, explicit: true, parens: false, brace: self.brace(node, body) },
        }
    }

    /// The position of the brace before a body.
    fn brace(&self, node: Loc, body: &Body) -> Loc {
        let Some(first) = body.first() else { return node };
        let text = self.loc_text(node).as_bytes();
        let before = unsigned(first.span.start).saturating_sub(node.offset).min(text.len());
        let before = text.get(..before).unwrap_or_default();
        match before.iter().rposition(|byte| *byte == b'{') {
            Some(at) => Loc {
                row: node.row + self.lines_between(node.start, node.start + at),
                offset: node.offset + at,
                start: node.start + at,
                ..node
            },
            None => node,
        }
    }

    fn body_end_row(&self, body: &Body) -> i64 {
        let Some(last) = body.last() else { return 0 };
        let loc = self.span_loc(last.span);
        let text = self.loc_text(loc).trim_end_matches([' ', '\t', '\r', '\n']);
        loc.row + self.lines_between(loc.start, loc.start + text.len())
    }

    /// Marks a union at the beginning of a body in braces for parentheses; otherwise it would look
    /// like a comprehension.
    fn mark_leading_union(&mut self, expr: &Expr) {
        if expr.negated {
            return;
        }
        if is_logical(expr) {
            if let Some((first, _)) = self.flatten(expr)
                && !first.explicit
                && !first.parens
                && let Some(first) = first.body.first()
            {
                self.mark_leading_union(first);
            }
            return;
        }
        if is_union_expr(expr) {
            self.paren_expr = Some(std::ptr::from_ref(expr));
            return;
        }
        if let ExprKind::Call(terms) = &expr.kind
            && let Some(lead) = leading_operand(terms)
            && is_union_call(lead)
        {
            self.paren_term = Some(std::ptr::from_ref(lead));
        }
    }

    // Calls.

    fn statement_call(&mut self, terms: &[Term]) -> WriteResult {
        let Some((function, operands)) = terms.split_first() else { return Ok(()) };
        let Some((sign, count)) = operator(function) else {
            return self.plain_call(function, operands);
        };
        if sign == "in" {
            return self.member(false, function, operands);
        }
        let sign = format!(" {sign} ");
        match operands {
            [left, right] => {
                or_drop!(self, self.side(left))?;
                self.write(&sign);
                self.side(right)
            }
            [left, right, result] => {
                or_drop!(self, self.side(result))?;
                self.write(" = ");
                or_drop!(self, self.side(left))?;
                self.write(&sign);
                or_drop!(self, self.side(right))
            }
            _ => {
                debug_assert_eq!(count, 2);
                self.problems.push(arity_problem(function));
                self.plain_call(function, operands)
            }
        }
    }

    /// Writes an operand of a statement. OPA's text has no parentheses around it, and another meaning
    /// where it needs them.
    fn side(&mut self, term: &Term) -> WriteResult {
        let is_call = matches!(term.ungrouped().kind, TermKind::Call(_));
        self.in_parens(self.style.own_parens && is_call && is_group(term), term)
    }

    /// Writes a term, in parentheses if `parens` is set.
    fn in_parens(&mut self, parens: bool, term: &Term) -> WriteResult {
        self.write_if(parens, "(");
        let result = self.term(term);
        self.write_if(parens, ")");
        result
    }

    /// Writes an operand within a term.
    fn inner_side(&mut self, term: &Term) -> WriteResult {
        self.term_parens(!self.style.own_parens || is_group(term), term)
    }

    fn plain_call(&mut self, function: &Term, operands: &[Term]) -> WriteResult {
        self.reference(function.ref_parts())?;
        // The text of a function's name contains no parentheses.
        let loc = self.loc(function);
        let elements = operands.iter().map(Element::Term).collect();
        or_drop!(self, self.collection(b'(', b')', elements, loc, false))
    }

    fn call(&mut self, parens: bool, terms: &[Term]) -> WriteResult {
        let Some((function, operands)) = terms.split_first() else { return Ok(()) };
        let Some((sign, _)) = operator(function) else {
            return self.plain_call(function, operands);
        };
        if sign == "in" {
            return self.member(parens || !self.style.own_parens, function, operands);
        }
        self.write_if(parens, "(");
        let [left, right] = operands else {
            self.problems.push(arity_problem(function));
            return Ok(());
        };
        self.inner_side(left)?;
        self.write(&format!(" {sign} "));
        self.inner_side(right)?;
        self.write_if(parens, ")");
        Ok(())
    }

    fn member(&mut self, parens: bool, function: &Term, operands: &[Term]) -> WriteResult {
        let count = operator(function).map_or(0, |(_, count)| count);
        if operands.len() != count {
            self.problems.push(arity_problem(function));
            return Ok(());
        }
        match operands {
            [value, domain] => {
                let parens = parens && self.style.keep_meaning;
                self.write_if(parens, "(");
                self.inner_side(value)?;
                self.write(" in ");
                self.inner_side(domain)?;
                self.write_if(parens, ")");
                Ok(())
            }
            [key, value, domain] => {
                self.write_if(parens, "(");
                let result = self.member_with_key(key, value, domain);
                self.write_if(parens, ")");
                result
            }
            _ => Ok(()),
        }
    }

    fn member_with_key(&mut self, key: &Term, value: &Term, domain: &Term) -> WriteResult {
        self.inner_side(key)?;
        self.write(", ");
        self.inner_side(value)?;
        self.write(" in ");
        self.inner_side(domain)?;
        Ok(())
    }

    // Terms.

    fn term(&mut self, term: &Term) -> WriteResult {
        if self.comments.rest().is_empty() {
            return self.term_parens(false, term);
        }
        let (length, level, saved) = (self.out.len(), self.level, self.comments.clone());
        let result = self.term_parens(false, term);
        if !matches!(result, Err(Failure::Comment)) {
            return result;
        }
        self.out.truncate(length);
        self.level = level;
        self.comments = saved;
        let loc = self.loc(term);
        if let Some(note) = &self.before_end
            && loc.end > loc.start
            && (loc.row..=self.end_row(loc)).contains(&note.row)
        {
            self.before_end = None;
        }
        or_drop!(self, self.unformatted(loc))?;
        if self.style.keep_meaning { Ok(()) } else { result }
    }

    /// Copies the author's text as it is, with the comments in it.
    fn unformatted(&mut self, loc: Loc) -> WriteResult {
        let text = self.loc_text(loc);
        if text.is_empty() {
            return Err(Failure::Other("original unformatted text is empty".to_owned()));
        }
        let last_row = loc.row + newlines(text);
        self.write(text);
        let left = &mut self.comments;
        left.from += left.rest().partition_point(|note| note.row < last_row);
        if self.comment_on_final_line {
            let behind = left.rest().partition_point(|note| note.row == last_row);
            for note in left.rest().get(..behind).unwrap_or_default() {
                self.out.push(' ');
                self.out.push_str(&note.text);
            }
            left.from += behind;
        }
        Ok(())
    }

    fn term_parens(&mut self, parens: bool, term: &Term) -> WriteResult {
        or_drop!(self, deeper(|| self.term_within(parens, term)))
    }

    fn term_within(&mut self, parens: bool, term: &Term) -> WriteResult {
        let mut parens = parens;
        if self.paren_term.is_some_and(|marked| std::ptr::eq(marked, term)) {
            self.paren_term = None;
            parens = true;
        }
        let loc = self.loc(term);
        self.insert(loc.row)?;
        if !self.inline {
            self.start_line();
        }
        let inner = term.ungrouped();
        match &inner.kind {
            TermKind::Ref(parts) => self.reference(parts)?,
            TermKind::Object(pairs) => {
                let elements = pairs.iter().map(|(key, value)| Element::Pair(key, value)).collect();
                self.collection(b'{', b'}', elements, loc, true)?;
            }
            TermKind::Array(terms) => {
                let elements = terms.iter().map(Element::Term).collect();
                self.collection(b'[', b']', elements, loc, true)?;
            }
            TermKind::Set(terms) if terms.is_empty() => {
                self.write("set()");
                let close = self.closing(None, b'(', b')', loc);
                self.insert(close)?
            }
            TermKind::Set(terms) => {
                let elements = terms.iter().map(Element::Term).collect();
                self.collection(b'{', b'}', elements, loc, true)?;
            }
            TermKind::Comprehension(of, inner) => {
                let (open, close) = of.delimiters();
                self.out.push(open);
                let key = inner.key.as_ref().map_or(Ok(()), |key| {
                    // The value is written on the line of the key.
                    let value = self.loc(&inner.value);
                    let moved = Loc { row: loc.row, ..value };
                    self.moved.insert(std::ptr::from_ref(&inner.value), moved);
                    let parens = is_union_call(key);
                    self.write_if(parens, "(");
                    self.term(key)?;
                    self.write(if parens { "): " } else { ": " });
                    Ok(())
                });
                let result = key.and_then(|()| self.comprehension(*of, inner, loc));
                self.out.push(close);
                result?
            }
            TermKind::String(text) => self.string(text, loc),
            TermKind::Template(template) => self.template(template)?,
            TermKind::Call(terms) => self.call(parens, terms)?,
            TermKind::Number(_) => {
                let literal = self.slice(unsigned(inner.span.start), unsigned(inner.span.end));
                let compact: String = literal.split_whitespace().collect();
                let text = inner.to_string();
                // A number without a zero before its decimal point is kept as it is.
                let digits = compact.strip_prefix('-').unwrap_or(&compact);
                self.write(if digits.starts_with('.') { &compact } else { &text });
            }
            _ => {
                self.write(&inner.to_string());
            }
        }
        if !self.inline {
            self.start_line();
        }
        Ok(())
    }

    /// Writes a string as the author did, including escapes.
    fn string(&mut self, value: &str, loc: Loc) {
        let text = self.loc_text(loc);
        if text.starts_with('`') {
            self.write(text);
            return;
        }
        let last = text.chars().next_back().filter(|last| matches!(last, '"' | '`'));
        match last.and_then(|last| Some((last, text.split_once(last)?.1))) {
            Some((mark, after)) => {
                self.out.push(mark);
                self.write(after);
            }
            // The string is a name after a dot.
            None => self.write(&quote(value)),
        }
    }

    fn template(&mut self, template: &Template) -> WriteResult {
        let mark = if template.raw { "`" } else { "\"" };
        self.write("$");
        self.write(mark);
        for (index, part) in template.parts.iter().enumerate() {
            match part {
                TemplatePart::Expr(expr) => {
                    self.write("{");
                    self.level += 1;
                    if self.before_end.is_some() {
                        self.end_line();
                        self.start_line();
                    } else {
                        let before = self.notes_before(self.span_loc(expr.span).row);
                        if !before.is_empty() {
                            self.write(" ");
                            self.inline = true;
                            self.notes(&before);
                        }
                    }
                    self.expr(expr)?;
                    if let Some(next) = template.parts.get(index + 1) {
                        let row = match next {
                            TemplatePart::Text(term) => self.loc(term).row,
                            TemplatePart::Expr(expr) => self.span_loc(expr.span).row,
                        };
                        let before = self.notes_before(row);
                        if !before.is_empty() {
                            self.end_line();
                            self.notes(&before);
                            self.start_line();
                        }
                    }
                    self.write("}");
                    self.down();
                }
                TemplatePart::Text(term) => match &term.ungrouped().kind {
                    TermKind::String(text) if template.raw => self.write(&escape_braces(text)),
                    TermKind::String(text) => {
                        let quoted = escape_braces(&quote(text));
                        let inner = quoted.get(1..quoted.len().saturating_sub(1));
                        self.write(inner.unwrap_or_default());
                    }
                    kind => {
                        self.write(&kind.to_string());
                    }
                },
            }
        }
        self.write(mark);
        Ok(())
    }

    fn reference(&mut self, path: &[Term]) -> WriteResult {
        let Some((first, rest)) = path.split_first() else { return Ok(()) };
        let parens = matches!(first.ungrouped().kind, TermKind::Call(_))
            && self.first_byte(self.loc(first)) == Some(b'(');
        self.term_parens(parens, first)?;
        for part in rest {
            self.ref_operand(part)?;
        }
        Ok(())
    }

    fn ref_operand(&mut self, part: &Term) -> WriteResult {
        match &part.ungrouped().kind {
            TermKind::String(text) => {
                let written = if self.needs_brackets(text, part) {
                    format!("[{}]", quote(text))
                } else {
                    format!(".{text}")
                };
                self.write(&written);
                Ok(())
            }
            TermKind::Var(name) if !super::super::tree::is_root(name) => {
                let name = if name.starts_with('$') { "_" } else { name };
                self.write(&format!("[{name}]"));
                Ok(())
            }
            _ => {
                self.write("[");
                match self.term(part) {
                    // The bracket must not become part of the comment.
                    Err(Failure::Comment) => self.write("\n"),
                    result => result?,
                }
                self.write("]");
                Ok(())
            }
        }
    }

    fn needs_brackets(&self, text: &str, part: &Term) -> bool {
        if !may_follow_dot(text) {
            return true;
        }
        let keywords = match self.style.keywords {
            Version::V2 => Keywords::ALL,
            Version::V0 => Keywords::NOT,
            _ => Keywords::NOT.with(Keywords::V0_FUTURE),
        };
        let is_keyword = keywords.contains(text)
            || self.style.keywords != Version::V2
                && self.style.future.iter().any(|word| &**word == text);
        // Names that were written in brackets keep them.
        is_keyword && self.first_byte(self.loc(part)) == Some(b'"')
    }

    // Collections.

    fn comprehension(&mut self, of: Collection, inner: &Comprehension, loc: Loc) -> WriteResult {
        let Comprehension { value: term, body, .. } = inner;
        let place = self.loc(term);
        if place.row > loc.row {
            self.end_line();
            self.start_line();
        }
        let parens = matches!(term.ungrouped().kind, TermKind::Call(_))
            && (is_union_call(term) || self.first_byte(place) == Some(b'('));
        self.term_parens(parens, term)?;
        self.write(" |");
        self.comprehension_body(of, body, place, loc)
    }

    fn comprehension_body(
        &mut self,
        of: Collection,
        body: &Body,
        term: Loc,
        loc: Loc,
    ) -> WriteResult {
        let Some(first) = body.first() else { return Ok(()) };
        let lines = self.lines(body.iter().map(Element::Expr).collect(), term);
        let close_row = match of {
            Collection::Array => self.closing(None, b'[', b']', loc),
            Collection::Object | Collection::Set => self.closing(None, b'{', b'}', loc),
        };
        if self.span_loc(first.span).row > term.row || lines.len() > 1 {
            self.end_line();
            self.level += 1;
            let result = self.body(body).and_then(|()| or_drop!(self, self.insert(close_row)));
            self.down();
            self.start_line();
            return result;
        }
        for (index, expr) in body.iter().enumerate() {
            self.write(if index == 0 { " " } else { "; " });
            self.expr(expr)?;
        }
        or_drop!(self, self.insert(close_row))
    }

    fn element_loc(&self, element: Element<'_>) -> Loc {
        match element {
            Element::Term(term) | Element::Pair(term, _) => self.loc(term),
            Element::Expr(expr) => self.span_loc(expr.span),
        }
    }

    /// Groups elements by the lines on which the author wrote them.
    fn lines<'t>(&self, elements: Vec<Element<'t>>, last: Loc) -> Vec<Vec<Element<'t>>> {
        // A node that a compile stage generated has no position of its own.
        if elements.iter().any(|element| has_generated(*element)) {
            return vec![elements];
        }
        let mut placed: Vec<(Loc, Element<'t>)> =
            elements.into_iter().map(|element| (self.element_loc(element), element)).collect();
        placed.sort_by_key(|(loc, _)| (loc.row, loc.column));
        let mut lines = Vec::new();
        let mut line = Vec::new();
        let mut last = last.row;
        for (index, (loc, element)) in placed.into_iter().enumerate() {
            if loc.row > last && index > 0 {
                lines.push(std::mem::take(&mut line));
            }
            last = loc.row;
            line.push(element);
        }
        lines.push(line);
        lines
    }

    /// Writes elements between their delimiters, at the position of the whole.
    fn collection(
        &mut self,
        open: u8,
        close: u8,
        elements: Vec<Element<'_>>,
        loc: Loc,
        parens: bool,
    ) -> WriteResult {
        self.out.push(char::from(open));
        let close_row = self.closing(None, open, close, loc);
        let result = self.iterable(elements, loc, close_row, parens);
        self.out.push(char::from(close));
        result
    }

    fn iterable(
        &mut self,
        elements: Vec<Element<'_>>,
        loc: Loc,
        close: i64,
        parens: bool,
    ) -> WriteResult {
        let lines = self.lines(elements, loc);
        let mut multiline = lines.len() > 1;
        if !multiline {
            // If there are comments within a single line, only the author's layout has room for
            // them.
            let after = self.comments.rest().partition_point(|note| note.row <= loc.row);
            if self.comments.rest().get(after).is_some_and(|note| note.row < close) {
                return Err(Failure::Comment);
            }
            if let Some(first) = lines.first().and_then(|line| line.first()) {
                let text = self.loc_text(loc);
                let first = self.loc_text(self.element_loc(*first));
                multiline = text
                    .find(first)
                    .and_then(|cut| text.get(..cut))
                    .and_then(|before| before.find('\n'))
                    .is_some_and(|at| at > 0);
            }
        }
        if multiline {
            self.delay = true;
            self.end_line();
            self.level += 1;
            self.start_line();
        }
        let count = lines.len();
        for (index, line) in lines.into_iter().enumerate() {
            for (index, element) in line.into_iter().enumerate() {
                self.write_if(index > 0, ", ");
                or_drop!(self, self.entry(element, parens))?;
            }
            if index + 1 < count {
                self.write(",");
                self.end_line();
                self.start_line();
            }
        }
        if multiline {
            self.write(",");
            self.end_line();
            or_drop!(self, self.insert(close))?;
            self.down();
            self.start_line();
        }
        Ok(())
    }

    /// Writes an element; a union is put in parentheses always, or only where the author did so.
    fn entry(&mut self, element: Element<'_>, always: bool) -> WriteResult {
        match element {
            Element::Pair(key, value) => {
                let parens = is_union_call(key);
                self.write_if(parens, "(");
                or_drop!(self, self.term(key))?;
                self.write(if parens { "): " } else { ": " });
                self.in_parens(is_union_call(value), value)
            }
            Element::Term(term) => {
                let parens = is_union_call(term)
                    && (always || self.first_byte(self.loc(term)) == Some(b'('));
                self.in_parens(parens, term)
            }
            Element::Expr(expr) => self.expr(expr),
        }
    }
}

fn has_generated(element: Element<'_>) -> bool {
    let mut found = false;
    let mut look = |term: &Term| {
        found |= matches!(&term.kind, TermKind::Var(name) if name.starts_with("__local"));
        !found
    };
    match element {
        Element::Term(term) => walk_terms(term, &mut look),
        Element::Pair(key, value) => {
            walk_terms(key, &mut look);
            walk_terms(value, &mut look);
        }
        Element::Expr(expr) => walk_terms(expr, &mut look),
    }
    found
}

/// The first byte of a term, and the span of its text, as OPA sees them. The text includes
/// parentheses, which the first byte doesn't count.
pub fn place(term: &Term) -> (u32, Span) {
    let start = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    (start(leftmost(term)), Span { start: start(text_start(term)), ..term.span })
}

fn newlines(text: &str) -> i64 {
    signed(memchr::memchr_iter(b'\n', text.as_bytes()).count())
}

/// The position at which the delimiter at `first` is closed, with the number of line breaks before
/// it.
fn balanced(bytes: &[u8], first: usize, open: u8, close: u8) -> Option<(usize, i64)> {
    let mut depth = 1;
    let mut lines = 0;
    for (index, byte) in bytes.iter().enumerate().skip(first + 1) {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
        } else if *byte == b'\n' {
            lines += 1;
        }
        if depth == 0 {
            return Some((index, lines));
        }
    }
    None
}

fn is_infix(terms: &[Term]) -> bool {
    match terms {
        [function, first, ..] => function.span.start >= first.span.end,
        _ => false,
    }
}

/// The first byte of a term, without parentheses.
fn leftmost(term: &Term) -> usize {
    let mut term = term;
    loop {
        let first = match &term.kind {
            TermKind::Group(inner) => Some(&**inner),
            TermKind::Ref(parts) => parts.first(),
            TermKind::Call(terms) => terms.get(usize::from(is_infix(terms))),
            _ => return unsigned(term.span.start),
        };
        let Some(first) = first else { return 0 };
        term = first;
    }
}

/// The position at which OPA lets a term's text begin: if the head is a collection, at the head's
/// end.
fn text_start(term: &Term) -> usize {
    let first = match &term.kind {
        TermKind::Ref(parts) => parts.first(),
        TermKind::Call(terms) if !is_infix(terms) => {
            terms.first().and_then(|function| function.ref_parts().first())
        }
        _ => None,
    };
    match first {
        Some(first) => match first.kind {
            TermKind::Group(_)
            | TermKind::Array(_)
            | TermKind::Object(_)
            | TermKind::Set(_)
            | TermKind::Comprehension(..) => unsigned(first.span.end).saturating_sub(1),
            _ => unsigned(term.span.start),
        },
        None => unsigned(term.span.start),
    }
}
