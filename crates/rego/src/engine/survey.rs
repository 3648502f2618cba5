//! The survey: a second evaluation, for what the first one doesn't show.
//!
//! A call is *reached* where everything before it in its body holds, in OPA's order of the body,
//! whatever other definitions, solutions and elements give. An evaluation spares itself some of that:
//! the rule index excludes definitions, one answer is enough for a constant rule, `every` ends at the
//! first element that doesn't hold. So what it reached is recorded by an evaluation that spares itself
//! nothing in bodies from which a call site is reached. It makes no calls: one that the first
//! evaluation didn't make is *unknown*, nothing behind it is reached, and neither is anything that
//! depends on whether it would hold.

use std::borrow::Cow;
use std::rc::Rc;

use super::machine::{Flow, Machine, Next, Run, Stop};
use super::reached::{Elements, Lookups, MAX_RECORDS, Misshapen, Places, Unmade, address};
use super::reference::found_by;
use crate::core::{
    Head, InputPart, Marks, Op, OpKind, Ref, Resolved, Rule, SetId, Side, Term, With, WithTarget,
    destructured,
};
use crate::syntax::tree::Span;
use crate::value::{Object, Value, deeper};

impl Run<'_> {
    /// Notes that a collection is iterated over.
    pub(super) fn iterates(&self) {
        if let Some(watched) = &self.watched {
            watched.set(Lookups { iterated: true, ..watched.get() });
        }
    }

    /// Notes that an operand of a reference isn't found.
    pub(super) fn misses(&self) {
        if let Some(watched) = &self.watched {
            watched.set(Lookups { missed: true, ..watched.get() });
        }
    }
}

impl<'p, 'r> Machine<'p, 'r> {
    /// Runs a body from an expression on, as [`Self::run`] does.
    pub(super) fn run_surveyed(
        &mut self,
        run: &Run<'p>,
        index: usize,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let Some(op) = run.body.get(index) else { return self.solved(run, next) };
        self.step().map_err(|stop| stop.at(op.span))?;
        let is_operand = op.operand_of > 0;
        let watched = is_operand.then(Rc::default);
        let within = Run { watched: watched.clone(), ..run.clone() };
        let before = self.set_unknown(false);
        if is_operand && let Some(survey) = &mut self.survey {
            survey.missing = None;
        }
        let lacked = self.lacks.replace(false);
        let (mut defined, mut later) = (false, false);
        let flow = self.deeper(|machine| {
            machine.each_answer(&within, op, &mut |machine| {
                if machine.unknown {
                    return Ok(());
                }
                defined = true;
                let flow = machine.run(run, index + 1, next);
                later |= machine.set_unknown(false);
                flow
            })
        });
        let unknown = self.set_unknown(false);
        if self.lacks.replace(lacked) {
            self.absent(op);
        }
        if !defined && !unknown {
            self.undefined(op);
        }
        if let Some(survey) = &mut self.survey
            && std::mem::take(&mut survey.unfit)
        {
            self.record_unmade(op.span, op.span, true);
        }
        if let Some(survey) = &mut self.survey
            && let Some(misshapen) = survey.misshapen.take()
        {
            let seen = Seen { reads: true, misshapen: Some(misshapen), ..Seen::default() };
            self.record(op.span, seen);
        }
        if let Some(watched) = watched
            && !unknown
        {
            let lookups = watched.get();
            if lookups.missed || !defined && !lookups.iterated {
                self.unmade(run, index, op);
            }
        }
        self.set_unknown(before || later || unknown);
        flow.map_err(|stop| stop.at(op.span))
    }

    /// Records an expression that looks up a member that an object can't have, unless its reference is recorded.
    pub(super) fn absent(&mut self, op: &'p Op) {
        let mut inner = op;
        while let OpKind::With(_, op) | OpKind::Negated(op) = &inner.kind {
            inner = op;
        }
        let references = inner.sides().filter_map(|side| match side {
            Side::Ref(reference) => Some(reference.span),
            _ => None,
        });
        let references: Vec<Span> = references.collect();
        let Some(absent) = self.absent_members() else { return };
        if !references.iter().any(|span| absent.contains(span)) {
            self.record_absent(references.first().copied().unwrap_or(op.span));
        }
    }

    /// Sets whether what is being evaluated depends on an unknown answer; returns what was set.
    #[inline]
    pub(super) fn set_unknown(&mut self, unknown: bool) -> bool {
        std::mem::replace(&mut self.unknown, unknown)
    }

    /// Returns `true` if what is being evaluated depends on an answer that isn't known, and nothing behind it is
    /// reached.
    pub(super) fn ends_at_unknown(&self) -> bool {
        self.unknown && self.survey.is_some()
    }

    /// Returns `true` if an evaluation mustn't spare itself anything in bodies from which a call
    /// site is reached, or not.
    #[inline]
    pub(super) fn spares_nothing(&self, reaches: bool) -> bool {
        self.survey.as_ref().is_some_and(|survey| reaches || survey.fields)
    }

    /// Notes that something was spared from which a call site is reached.
    #[inline]
    pub(super) fn spared(&self, reaches: bool) {
        if reaches {
            self.suspect(Marks::CALL);
        }
    }

    /// Notes the marks of an expression that is undefined.
    #[inline]
    pub(super) fn suspect(&self, marks: Marks) {
        if !marks.is_none() {
            self.suspects.set(self.suspects.get().with(marks));
        }
    }

    /// Records the missing reference that makes an expression undefined.
    fn undefined(&mut self, op: &'p Op) {
        let own = self.own_input;
        let Some(survey) = &mut self.survey else { return };
        let mut op = op;
        while let OpKind::With(_, inner) = &op.kind {
            op = inner;
        }
        for side in op.sides() {
            if let Side::Ref(reference) = side
                && matches!(reference.head, Head::Input)
                && own
            {
                survey.missing = Some(reference.span);
            }
        }
    }

    /// Notes that a rule is undefined.
    pub(super) fn undefined_rule(&mut self, id: SetId) {
        if let Some(survey) = &mut self.survey {
            survey.missing_of.insert(id, survey.missing);
        }
    }

    /// Notes that a rule was undefined before.
    pub(super) fn known_undefined(&mut self, id: SetId) {
        if let Some(survey) = &mut self.survey
            && let Some(missing) = survey.missing_of.get(&id)
        {
            survey.missing = *missing;
        }
    }

    /// Records the call whose operand is undefined.
    fn unmade(&mut self, run: &Run<'p>, index: usize, op: &'p Op) {
        let Some(call) = run.body.get(index + op.operand_of as usize) else { return };
        if self.is_replaced_call(call) {
            return;
        }
        // Of an assignment that the author wrote, what is assigned.
        let mut of_author = op.sides().filter(|_| !op.generated);
        let operand = of_author.find_map(|side| match side {
            Side::Ref(reference) => Some(reference.span),
            _ => None,
        });
        self.record_unmade(call.span, operand.unwrap_or(op.span), false);
    }

    fn record_unmade(&mut self, call: Span, operand: Span, unfit: bool) {
        let Some(survey) = &mut self.survey else { return };
        let unmade = &mut survey.found.unmade;
        if unmade.len() < MAX_RECORDS && !unmade.iter().any(|known| known.call == call) {
            let field = survey.missing.filter(|_| !unfit);
            unmade.push(Unmade { call, operand, field, unfit });
        }
    }

    /// Evaluates the definitions of a function, and notes a call for which no head fits although none selects
    /// other arguments.
    pub(super) fn watch_heads(
        &mut self,
        id: SetId,
        evaluate: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        let Some(survey) = &mut self.survey else { return evaluate(self) };
        let before = std::mem::take(&mut survey.heads);
        let flow = evaluate(self);
        let reaches = self.core.set(id).is_some_and(|set| set.reaches);
        if let Some(survey) = &mut self.survey {
            let heads = std::mem::replace(&mut survey.heads, before);
            if !heads.fit {
                survey.unfit = reaches && heads.lacking;
                survey.misshapen = heads.misshapen;
            }
        }
        flow
    }

    /// Notes whether the head of a definition fits the arguments of a call.
    pub(super) fn note_head(
        &mut self,
        (rule, base): (&'p Rule, u32),
        (id, args): (SetId, &[Value]),
        fits: bool,
    ) {
        if fits {
            if let Some(survey) = &mut self.survey {
                survey.heads.fit = true;
            }
            return;
        }
        self.spared(self.core.set(id).is_some_and(|set| set.reaches));
        let pairs = || rule.args.iter().zip(args);
        if pairs().any(|(arg, value)| self.excludes_in(arg, base, value)) {
            self.suspect_absent();
        }
        if self.survey.is_none() {
            return;
        }
        let lacks = !pairs().any(|(arg, value)| self.contradicts(arg, base, Some(value)));
        let mut seen = Seen::default();
        if self.own_input {
            for (arg, value) in pairs() {
                let part = self.part_of_input(value);
                self.take_apart((value, part), arg, &mut seen);
            }
        }
        let misshapen = seen.misshapen;
        if let Some(survey) = &mut self.survey {
            survey.heads.lacking |= lacks;
            survey.heads.misshapen = survey.heads.misshapen.or(misshapen);
        }
    }

    /// Returns `true` if a value lacks, or differs from, a part of a pattern that has a value: the pattern
    /// selects other values.
    pub(super) fn contradicts(&self, pattern: &Term, base: u32, value: Option<&Value>) -> bool {
        if let Some(wanted) = self.value(pattern, base) {
            return value != Some(&*wanted);
        }
        let below = |pattern: &Term, value| deeper(|| self.contradicts(pattern, base, value));
        match pattern {
            Term::Array(items) => {
                let values = value.and_then(Value::as_array);
                let at = |index| values.and_then(|values| values.get(index));
                items.iter().enumerate().any(|(index, item)| below(item, at(index)))
            }
            Term::Object(items) => items.iter().any(|(key, item)| {
                let member = |key: Cow<'_, Value>| value.and_then(|value| value.get(&key));
                below(item, self.value(key, base).and_then(member))
            }),
            _ => false,
        }
    }

    /// Returns `true` for a call of a function that `with` replaces.
    fn is_replaced_call(&self, mut op: &'p Op) -> bool {
        let mut modifiers: Vec<&With> = Vec::new();
        loop {
            match &op.kind {
                OpKind::With(with, inner) => {
                    modifiers.extend(with.iter());
                    op = inner;
                }
                OpKind::Negated(inner) => op = inner,
                OpKind::Call(call) => {
                    let replaces = |with: &&With| matches!(&with.target, WithTarget::Function(name) if *name == call.name);
                    return modifiers.iter().any(replaces) || self.standin(&call.name).is_some();
                }
                _ => return false,
            }
        }
    }

    /// Looks at the reads of an expression before it is evaluated: its references, and the values that a pattern
    /// takes apart.
    ///
    /// A value that is read is a part of the input if it is written as one, or if it is that value in memory,
    /// wherever it came from: an argument, a rule, a collection.
    #[cold]
    pub(super) fn judge(&mut self, run: &Run<'p>, op: &'p Op) -> Flow {
        let sides = match &op.kind {
            OpKind::Unify(sides) => {
                [Some((&sides.0, destructured(&sides.1))), Some((&sides.1, destructured(&sides.0)))]
            }
            OpKind::Test(side) => [Some((side, None)), None],
            _ => return Ok(()),
        };
        // Of two references, the second isn't looked up if the first finds nothing.
        let mut is_first = true;
        for (side, pattern) in sides.into_iter().flatten() {
            match side {
                Side::Ref(reference) => {
                    let reads = pattern.is_some() || !reference.path.is_empty();
                    if reads
                        && let Some((value, path)) =
                            self.read_value(run, reference, (is_first, pattern.is_some()))?
                    {
                        let from = (reference.part, reference.span);
                        self.judge_read(run, (&value, path), pattern, from)?;
                    }
                    is_first = false;
                    let lacks = match (&reference.head, &self.input, &self.data) {
                        (Head::Input, None, _) => {
                            self.excludes_path(None, self.keys(run, &reference.path))
                        }
                        (Head::Data(_), _, Some(data)) => {
                            self.excludes(run, (data, &reference.path), pattern)
                        }
                        _ => false,
                    };
                    if lacks {
                        self.record_absent(reference.span);
                    }
                }
                Side::Term(term) if pattern.is_some() => {
                    if let Some(value) = self.value(term, run.base).map(Cow::into_owned) {
                        self.judge_read(run, (&value, &[]), pattern, (InputPart::None, op.span))?;
                    }
                }
                Side::Term(_) | Side::Comprehension(_) => {}
            }
        }
        Ok(())
    }

    /// Looks at what is read of a value with some operands, and taken apart by a pattern. `part` is the part of the
    /// input that the value is as the author wrote it.
    fn judge_read(
        &mut self,
        run: &Run<'p>,
        (value, path): (&Value, &'p [Term]),
        pattern: Option<&'p Term>,
        (part, span): (InputPart, Span),
    ) -> Flow {
        if self.excludes(run, (value, path), pattern) {
            self.record_absent(span);
        }
        if !self.own_input {
            return Ok(());
        }
        let part = match part {
            // The members of an object have types of their own, unless none has fields.
            InputPart::Element if self.input.as_ref().is_some_and(has_objects) => InputPart::None,
            InputPart::None => self.part_of_input(value),
            part => part,
        };
        let mut seen = Seen { pattern, ..Seen::default() };
        self.look_at(run, (value, part), path, &mut seen)?;
        self.record(span, seen);
        Ok(())
    }

    fn record_absent(&mut self, reference: Span) {
        let Some(absent) = self.absent_members() else { return };
        if absent.len() < MAX_RECORDS && !absent.contains(&reference) {
            absent.push(reference);
        }
    }

    /// The records of look-ups of members that objects can't have.
    fn absent_members(&mut self) -> Option<&mut Vec<Span>> {
        match (&mut self.survey, &mut self.reading) {
            (Some(survey), _) => Some(&mut survey.found.absent),
            (None, reading) => reading.as_mut().map(|reading| &mut reading.found.absent),
        }
    }

    /// Returns the value that a reference begins with, and the operands that are looked up in it. A rule
    /// is evaluated, if the reference does so before anything else.
    fn read_value(
        &mut self,
        run: &Run<'p>,
        reference: &'p Ref,
        (is_first, pattern): (bool, bool),
    ) -> Result<Option<(Value, &'p [Term])>, Stop> {
        let path = &*reference.path;
        Ok(match &reference.head {
            Head::Input => self.input.clone().map(|value| (value, path)),
            Head::Var(slot) => self.slot_value(*slot, run.base).cloned().map(|value| (value, path)),
            Head::Data(Resolved::Rules(id, count)) if is_first && self.replaced_data == 0 => {
                let core = self.core;
                let rest = path.get(*count..).unwrap_or_default();
                let Some(set) = core.set(*id).filter(|_| pattern || !rest.is_empty()) else {
                    return Ok(None);
                };
                let before = self.set_unknown(false);
                let found = if !set.multi && set.ground {
                    self.rules_single(run, *id, rest).map(Option::flatten)
                } else if rest.first().is_some_and(|first| self.is_free(first, run.base)) {
                    self.partial(run, *id, set, rest)
                } else {
                    Ok(None)
                };
                let unknown = self.set_unknown(before);
                found?.filter(|_| !unknown)
            }
            Head::Data(_) | Head::Nothing => None,
        })
    }

    /// The values of the first operands of a reference, up to one that has none.
    pub(super) fn keys(
        &self,
        run: &Run<'p>,
        path: &'p [Term],
    ) -> impl Iterator<Item = Cow<'_, Value>> {
        let base = run.base;
        path.iter().map_while(move |term| self.value(term, base))
    }

    /// Returns `true` if a look-up finds nothing since an object can't have a member; `None` stands for a
    /// missing input.
    pub(super) fn excludes_path<'v>(
        &self,
        value: Option<&Value>,
        mut keys: impl Iterator<Item = Cow<'v, Value>>,
    ) -> bool {
        if self.closed.is_empty() {
            return false;
        }
        let mut value = value;
        let mut of_input = self.closed_input && value.is_none_or(|value| self.is_input(value));
        // The member of the input that the value is.
        let mut member = None;
        while let Some(key) = keys.next() {
            let Some(found) = value.and_then(|value| value.get(&key)) else {
                if value.is_some_and(|value| self.closed.excludes(value, &key)) {
                    return true;
                }
                let (member, below) =
                    if of_input { (Some(key), keys.next()) } else { (member, Some(key)) };
                return member
                    .is_some_and(|own| self.closed.excludes_below(&own, below.as_deref()));
            };
            // An object has its own record, unless the policy puts it there.
            let is_own = of_input && !matches!(found, Value::Object(_));
            member = is_own.then_some(key);
            of_input = false;
            value = Some(found);
        }
        false
    }

    /// Returns `true` if an object can't have a member that is looked up in a value with some operands, or that a
    /// pattern names in what they find.
    fn excludes(
        &self,
        run: &Run<'p>,
        (value, path): (&Value, &'p [Term]),
        pattern: Option<&'p Term>,
    ) -> bool {
        if self.excludes_path(Some(value), self.keys(run, path)) {
            return true;
        }
        let Some(pattern) = pattern else { return false };
        let mut keys = path.iter().map(|term| self.value(term, run.base));
        let found = keys.try_fold(value, |value, key| value.get(&*key?));
        found.is_some_and(|found| self.excludes_in(pattern, run.base, found))
    }

    /// Returns `true` if a pattern names a member that an object in a value can't have.
    pub(super) fn excludes_in(&self, pattern: &Term, base: u32, value: &Value) -> bool {
        if self.closed.is_empty() {
            return false;
        }
        let below = |pattern: &Term, value| deeper(|| self.excludes_in(pattern, base, value));
        match pattern {
            Term::Array(items) => {
                let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
                items.iter().zip(values).any(|(item, value)| below(item, value))
            }
            Term::Object(items) => items.iter().any(|(key, item)| {
                let Some(key) = self.value(key, base) else { return false };
                match value.get(&key) {
                    Some(found) => below(item, found),
                    None if self.closed_input && self.is_input(value) => {
                        let first = match item {
                            Term::Object(items) => items.first(),
                            _ => None,
                        };
                        let first = first.and_then(|(key, _)| self.value(key, base));
                        self.closed.excludes(value, &key)
                            || self.closed.excludes_below(&key, first.as_deref())
                    }
                    None => self.closed.excludes(value, &key),
                }
            }),
            _ => false,
        }
    }

    /// Returns the part of the input that a value is: by its place in memory, or if it has none, by what it
    /// is, unless `walk` may have found it anywhere.
    fn part_of_input(&mut self, value: &Value) -> InputPart {
        let Some(input) = &self.input else { return InputPart::None };
        let place = address(value);
        if place.is_none() && (self.core.walks || matches!(value, Value::Set(_))) {
            return InputPart::None;
        }
        if place == address(input) && (place.is_some() || value == input) {
            return InputPart::Whole;
        }
        let (Value::Array(items), Some(survey)) = (input, &mut self.survey) else {
            return InputPart::None;
        };
        let combined = survey.combined;
        let elements =
            survey.elements.get_or_insert_with(|| Elements::of(items.as_slice(), combined));
        match (elements.documents.contains(value), elements.items.contains(value)) {
            (true, _) => InputPart::Whole,
            (_, true) => InputPart::Element,
            _ => InputPart::None,
        }
    }

    /// Looks up a reference's operands as far as they read fields of the input or of its elements.
    fn look_at(
        &mut self,
        run: &Run<'p>,
        (value, part): (&Value, InputPart),
        path: &'p [Term],
        seen: &mut Seen<'p>,
    ) -> Flow {
        let Some((first, rest)) = path.split_first() else {
            if let Some(pattern) = seen.pattern {
                self.take_apart((value, part), pattern, seen);
            }
            return Ok(());
        };
        let key = self.value(first, run.base).map(Cow::into_owned);
        let combined = self.survey.as_ref().is_some_and(|survey| survey.combined);
        // Of an element that holds a document, the document is judged.
        let goes_on = !rest.is_empty() || seen.pattern.is_some();
        let holds = combined && goes_on && is_contents(value, key.as_ref());
        let part = if holds { InputPart::None } else { part };
        let of_element = part == InputPart::Element;
        match (value, &key) {
            (Value::Object(members), key) if part == InputPart::Whole => {
                seen.reads = true;
                // A loop over the members for a field, where none of them has fields.
                if let (None, Some(Term::Const(Value::String(_))), Some(member)) =
                    (key, rest.first(), members.values().next())
                    && !has_objects(value)
                {
                    seen.misshapen.get_or_insert((true, member.type_name()));
                }
                let mut found = members
                    .iter()
                    .filter(|(own, _)| key.as_ref().is_none_or(|key| *key == **own))
                    .map(|(_, value)| value);
                seen.finds |= match rest.first() {
                    Some(Term::Const(name @ Value::String(_))) => {
                        found.any(|value| value.get(name).is_some())
                    }
                    _ => found.next().is_some(),
                };
                return Ok(());
            }
            (Value::Object(members), Some(name @ Value::String(_))) if of_element => {
                seen.reads = true;
                seen.finds |= members.get(name).is_some();
                return Ok(());
            }
            (other, Some(Value::String(_))) if part != InputPart::None => {
                seen.reads = true;
                seen.misshapen.get_or_insert((of_element, other.type_name()));
                return Ok(());
            }
            // There are no elements.
            (scalar, _)
                if part == InputPart::Whole
                    && !matches!(scalar, Value::Array(_) | Value::Set(_)) =>
            {
                seen.misshapen.get_or_insert((false, scalar.type_name()));
                return Ok(());
            }
            _ if rest.is_empty() && seen.pattern.is_none() || of_element => return Ok(()),
            _ => {}
        }
        let mut below = |machine: &mut Self, item: &Value| {
            machine.step()?;
            let of_input = address(value) == machine.input.as_ref().and_then(address);
            let part = match (part, value) {
                (InputPart::Whole, Value::Array(_)) if !(combined && of_input) => {
                    InputPart::Element
                }
                _ if combined && is_contents(value, key.as_ref()) => InputPart::Whole,
                _ => machine.part_of_input(item),
            };
            machine.deeper(|machine| machine.look_at(run, (item, part), rest, seen))
        };
        match (value, &key) {
            (value, Some(key)) => found_by(value, key).map_or(Ok(()), |item| below(self, item)),
            (Value::Array(items), None) => items.iter().try_for_each(|item| below(self, item)),
            (Value::Object(members), None) => {
                members.values().try_for_each(|item| below(self, item))
            }
            (Value::Set(items), None) => items.iter().try_for_each(|item| below(self, item)),
            _ => Ok(()),
        }
    }

    /// Compares the shape of a value with the objects of a pattern.
    fn take_apart(
        &mut self,
        (value, part): (&Value, InputPart),
        pattern: &'p Term,
        seen: &mut Seen<'p>,
    ) {
        match pattern {
            Term::Object(_) if part != InputPart::None && !matches!(value, Value::Object(_)) => {
                seen.misshapen.get_or_insert((part == InputPart::Element, value.type_name()));
            }
            // Of an element that holds a document, the document is taken apart.
            Term::Object(members) => {
                let combined = self.survey.as_ref().is_some_and(|survey| survey.combined);
                let contents = value.get_str(CONTENTS);
                let contents = contents.filter(|_| combined && is_contents(value, None));
                for (key, member) in members {
                    let is_key = matches!(key, Term::Const(key) if key.as_str() == Some(CONTENTS));
                    if let (Some(contents), true) = (contents, is_key) {
                        deeper(|| self.take_apart((contents, InputPart::Whole), member, seen));
                    }
                }
            }
            Term::Array(items) => {
                let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
                for (item, value) in items.iter().zip(values) {
                    let part = match part {
                        InputPart::Whole => InputPart::Element,
                        _ => self.part_of_input(value),
                    };
                    deeper(|| self.take_apart((value, part), item, seen));
                }
            }
            _ => {}
        }
    }

    fn record(&mut self, reference: Span, seen: Seen<'_>) {
        let Some(survey) = &mut self.survey else { return };
        survey.found.read_fields |= seen.reads;
        survey.found.found_field |= seen.finds;
        let known = &mut survey.found.misshapen;
        if let Some((of_element, found)) = seen.misshapen
            && known.len() < MAX_RECORDS
            && !known.iter().any(|known| known.reference == reference)
        {
            known.push(Misshapen { reference, of_element, found });
        }
    }

    /// Returns a document whose parts aren't identified as those of the input: `walk` visits whatever there
    /// is, so that what it yields is of any type for good reasons.
    pub(super) fn apart(&mut self, value: &Value) -> Result<Value, Stop> {
        if self.part_of_input(value) == InputPart::None {
            return Ok(value.clone());
        }
        self.copied(value)
    }

    fn copied(&mut self, value: &Value) -> Result<Value, Stop> {
        self.step()?;
        self.context.spend(64)?;
        let mut copied = |item: &Value| self.deeper(|machine| machine.copied(item));
        Ok(match value {
            Value::String(text) => Value::from(&**text),
            Value::Array(items) => {
                Value::from(items.iter().map(copied).collect::<Result<Vec<_>, _>>()?)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(key, item)| Ok((key.clone(), copied(item)?)));
                Value::from(members.collect::<Result<Object, Stop>>()?)
            }
            // The input has none; scalars have no place.
            other => other.clone(),
        })
    }
}

/// The member that holds a document where the input is an array of them.
const CONTENTS: &str = "contents";

/// Returns `true` for an object that holds one.
pub(crate) fn has_objects(value: &Value) -> bool {
    let is_object = |value: &Value| matches!(value, Value::Object(_));
    matches!(value, Value::Object(members) if members.values().any(is_object))
}

/// Returns `true` for an operand that leads to a document, in an element of an array of them.
fn is_contents(within: &Value, key: Option<&Value>) -> bool {
    let is_key = key.is_none_or(|key| key.as_str() == Some(CONTENTS));
    is_key
        && matches!(within, Value::Object(members) if members.len() == 2)
        && within.get_str("path").is_some()
}

/// The part of the input that a reference reads.
#[derive(Default)]
struct Seen<'p> {
    /// The pattern that takes apart what it finds.
    pattern: Option<&'p Term>,
    reads: bool,
    finds: bool,
    misshapen: Option<(bool, &'static str)>,
}

impl Places {
    fn of<'v>(values: impl Iterator<Item = &'v Value> + Clone) -> Self {
        let scalars = values.clone().filter(|value| address(value).is_none());
        Self {
            scalars: scalars.cloned().collect(),
            allocated: values.filter_map(address).collect(),
        }
    }

    fn contains(&self, value: &Value) -> bool {
        match address(value) {
            Some(place) => self.allocated.contains(&place),
            None => self.scalars.contains(value),
        }
    }
}

impl Elements {
    fn of(items: &[Value], combined: bool) -> Self {
        if combined {
            let documents: Vec<&Value> =
                items.iter().filter_map(|item| item.get_str(CONTENTS)).collect();
            let of_array =
                |document: &Value| document.as_array().map(|own| own.as_slice().to_vec());
            let elements: Vec<Value> =
                documents.iter().filter_map(|own| of_array(own)).flatten().collect();
            let documents = Places::of(documents.into_iter());
            return Self { documents, ..Self::of(&elements, false) };
        }
        Self { documents: Places::default(), items: Places::of(items.iter()) }
    }
}
