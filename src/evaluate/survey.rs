//! The statements that an evaluation reached and couldn't judge: calls with undefined arguments, documents of
//! another shape, and missing values.
//!
//! Owns the host of a survey and of a reading ([`crate::rego::internal::engine::Survey`]): calls get the responses that
//! the evaluation got, and nothing is printed. Both may reach a call that the evaluation didn't: it is sent, and the
//! next pass has its response.

use std::sync::Arc;

use super::query::QueryOutput;
use super::scope::{Scope, Unmade};
use crate::load::position;
use crate::rego::internal::builtins;
use crate::rego::internal::engine::{self, Halt, Host, HostAnswer, HostCall};
use crate::rego::syntax::tree::Span;
use crate::rego::value::GoesOn;
use crate::rego::{Solution, Sources as Texts, Value};
use crate::{Error, Position};

/// The statements that an evaluation reached and couldn't judge.
///
/// A call is reached where everything before it in its body holds, in OPA's order of the body,
/// whatever other definitions, solutions and elements give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reached {
    /// The calls that couldn't be made, by position.
    pub unmade: Vec<UnmadeCall>,
    /// The references to fields of values that aren't objects, by position.
    pub misshapen: Vec<MisshapenInput>,
    /// The references to members that an object can't have, by position: the argument that wasn't given, the
    /// field that the service didn't send.
    pub absent: Vec<AbsentMember>,
    /// `true` if references to fields of the input were reached and none found anything.
    pub read_nothing: bool,
    /// The orderings of values of different types, by position.
    pub misordered: Vec<MisorderedValues>,
    /// The messages of violations that have no value, by position.
    pub unsaid: Vec<MissingOperand>,
    /// The results of the evaluation if missing operands are read in another way.
    pub readings: Vec<OtherReading>,
    /// The functions whose response is content that isn't text, and that no function decoded.
    pub undecoded: Vec<String>,
}

/// A reference to a member that an object can't have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AbsentMember {
    /// The position of the reference.
    pub position: Position,
    /// The reference as its author wrote it.
    pub reference: String,
}

/// An ordering (`<`, `sort`) of values of different types.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MisorderedValues {
    /// The position of the ordering.
    pub position: Position,
    /// The expression as its author wrote it.
    pub expression: String,
    /// The types of the values: `string`, `number`.
    pub types: (&'static str, &'static str),
}

/// An expression for which something is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingOperand {
    /// The position of the expression.
    pub position: Position,
    /// The expression as its author wrote it.
    pub expression: String,
    /// The missing operand, such as `input.image`.
    pub operand: String,
}

/// The result of an evaluation that reads missing operands in another way than OPA: negated calls and
/// look-ups with a missing operand hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherReading {
    /// `true` if comparisons with a missing operand hold as well, and negated equalities don't.
    pub comparisons: bool,
    /// The result.
    pub output: QueryOutput,
    /// The expressions that were taken in another way, by position.
    pub missing: Vec<MissingOperand>,
    /// The position of a call whose response isn't known: a prompt, or a call that failed.
    pub unmade: Option<Position>,
}

/// A call that was reached and couldn't be made, since an operand is undefined: a call of the service,
/// of a host function, of the network, or of a function of the policy from which one is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmadeCall {
    /// The position of the call.
    pub position: Position,
    /// The operand as its author wrote it.
    pub operand: String,
    /// The missing field of the input, such as `input.image`; `None` if the operand is undefined for another
    /// reason.
    pub field: Option<String>,
    /// `true` if all operands have values that the head of no definition of the function fits; the operand is
    /// the call then.
    pub unfit: bool,
}

/// A reference to a field of the input, or of one of its elements, which isn't an object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MisshapenInput {
    /// The position of the reference.
    pub position: Position,
    /// The reference as its author wrote it.
    pub reference: String,
    /// `true` if it refers to an element.
    pub of_element: bool,
    /// The type of the input or of the element: `array`, `string`.
    pub found: &'static str,
}

/// Returns a text in a policy on one line.
fn text(texts: &Texts, span: Span) -> String {
    texts.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn by_position(position: &Position) -> (String, u32, u32) {
    (position.file.clone(), position.line, position.column)
}

impl MissingOperand {
    fn all_of(missing: &[engine::Missing], texts: &Texts) -> Vec<Self> {
        let mut all: Vec<Self> = missing
            .iter()
            .map(|missing| Self {
                position: position(texts, missing.expression),
                expression: text(texts, missing.expression),
                operand: text(texts, missing.operand),
            })
            .collect();
        all.sort_by_key(|missing| by_position(&missing.position));
        all
    }
}

impl Reached {
    /// Adds the result of a reading.
    pub(super) fn add_reading(
        &mut self,
        reading: engine::Reading,
        (solutions, read): (Vec<Solution>, engine::Read),
        texts: &Texts,
    ) {
        let unmade = read.unmade.map(|call| position(texts, call));
        let missing = MissingOperand::all_of(&read.missing, texts);
        if reading == engine::Reading::Messages {
            self.unsaid = MissingOperand::all_of(&read.unsaid, texts);
        }
        let comparisons = reading == engine::Reading::Comparisons;
        if unmade.is_some() || !missing.is_empty() {
            let output = QueryOutput::from(solutions);
            self.readings.push(OtherReading { comparisons, output, missing, unmade });
        }
    }

    /// Adds the orderings of values of different types.
    pub(super) fn add_misordered(&mut self, found: &[engine::Misordered], texts: &Texts) {
        let values = found.iter().map(|found| MisorderedValues {
            position: position(texts, found.ordering),
            expression: text(texts, found.ordering),
            types: (found.left, found.right),
        });
        self.misordered.extend(values);
        self.misordered.sort_by_key(|values| by_position(&values.position));
        self.misordered.dedup();
    }

    /// Adds references to members that objects can't have.
    pub(super) fn add_absent(&mut self, references: &[Span], texts: &Texts) {
        self.absent.extend(references.iter().map(|reference| AbsentMember {
            position: position(texts, *reference),
            reference: text(texts, *reference),
        }));
        self.absent.sort_by_key(|member| by_position(&member.position));
        self.absent.dedup();
    }

    pub(super) fn of(survey: &engine::Survey, texts: &Texts) -> Self {
        let text = |span: Span| text(texts, span);
        let unmade = survey.unmade.iter().map(|unmade| UnmadeCall {
            position: position(texts, unmade.call),
            operand: text(unmade.operand),
            field: unmade.field.map(text),
            unfit: unmade.unfit,
        });
        let mut unmade: Vec<_> = unmade.collect();
        unmade.sort_by_key(|call| by_position(&call.position));
        let misshapen = survey.misshapen.iter().map(|misshapen| MisshapenInput {
            position: position(texts, misshapen.reference),
            reference: text(misshapen.reference),
            of_element: misshapen.of_element,
            found: misshapen.found,
        });
        let mut misshapen: Vec<_> = misshapen.collect();
        misshapen.sort_by_key(|reference| by_position(&reference.position));
        let read_nothing = survey.read_fields && !survey.found_field;
        let mut reached = Self { unmade, misshapen, read_nothing, ..Self::default() };
        reached.add_absent(&survey.absent, texts);
        reached.add_misordered(&survey.misordered, texts);
        reached
    }
}

/// The host of a survey or a reading.
pub(super) struct SurveyHost<'s> {
    pub(super) scope: &'s Scope,
    pub(super) unmade: Unmade,
}

impl SurveyHost<'_> {
    fn recall(&self, function: &str, args: &[Value]) -> builtins::Answer {
        let unknown = || builtins::Error::failed("no response is known for this call");
        self.scope.recall(function, args, self.unmade).ok_or_else(unknown)
    }
}

impl Host for SurveyHost<'_> {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        match self.scope.recall(call.name, call.args, self.unmade) {
            Some(Some(value)) => HostAnswer::Value(value),
            Some(None) => HostAnswer::Undefined,
            None => {
                let error = Error::internal("no response is known for this call");
                HostAnswer::Fail(Arc::new(error))
            }
        }
    }

    fn may_lack(&self, function: &str) -> Option<&'static str> {
        self.scope.may_lack(function)
    }

    fn check(&self) -> Result<(), Halt> {
        self.scope.check()
    }

    fn goes_on(&self) -> Option<GoesOn> {
        self.scope.goes_on()
    }

    fn now_ns(&self) -> i64 {
        self.scope.now_ns()
    }

    fn random(&self, key: &str) -> u64 {
        self.scope.random(key)
    }

    fn http_send(&self, request: &Value) -> builtins::Answer {
        self.recall(super::network::HTTP_SEND, std::slice::from_ref(request))
    }

    fn lookup_host(&self, name: &str) -> builtins::Answer {
        self.recall(super::network::LOOKUP, &[Value::from(name)])
    }

    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> builtins::Answer,
    ) -> builtins::Answer {
        self.scope.given(function, args).map_or_else(make, |value| Ok(Some(value)))
    }
}
