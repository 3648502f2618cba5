//! What an evaluation reached of its input and of the calls that it couldn't make.
//!
//! Owns the host of a survey ([`crate::rego::internal::engine::Survey`]): calls get the answers that the
//! evaluation got, and nothing is sent, printed or recorded.

use std::sync::Arc;

use super::scope::Scope;
use crate::load::position;
use crate::rego::Sources as Texts;
use crate::rego::Value;
use crate::rego::internal::builtins;
use crate::rego::internal::engine::{self, Halt, Host, HostAnswer, HostCall};
use crate::rego::syntax::tree::Span;
use crate::rego::value::GoesOn;
use crate::{Error, ErrorKind, Position};

/// What an evaluation reached of its input and of the calls that it couldn't make.
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
    /// `true` if references to fields of the input were reached and none found anything.
    pub read_nothing: bool,
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
    /// The field of the input for lack of which it is undefined, such as `input.image`; `None` if it
    /// isn't for lack of one.
    pub field: Option<String>,
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

impl Reached {
    pub(super) fn of(survey: &engine::Survey, texts: &Texts) -> Self {
        let text = |span: Span| texts.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let by_position =
            |position: &Position| (position.file.clone(), position.line, position.column);
        let unmade = survey.unmade.iter().map(|unmade| UnmadeCall {
            position: position(texts, unmade.call),
            operand: text(unmade.operand),
            field: unmade.field.map(text),
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
        Self { unmade, misshapen, read_nothing }
    }
}

pub(super) struct SurveyHost<'s>(pub &'s Scope);

impl SurveyHost<'_> {
    fn recall(&self, function: &str, args: &[Value]) -> builtins::Answer {
        let unknown = || builtins::Error::failed("the evaluation didn't make this call");
        self.0.recall(function, args).ok_or_else(unknown)
    }
}

impl Host for SurveyHost<'_> {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        match self.0.recall(call.name, call.args) {
            Some(Some(value)) => HostAnswer::Value(value),
            Some(None) => HostAnswer::Undefined,
            None => {
                let error = Error::new(ErrorKind::Internal, "the evaluation didn't make this call");
                HostAnswer::Fail(Arc::new(error))
            }
        }
    }

    fn check(&self) -> Result<(), Halt> {
        self.0.check()
    }

    fn goes_on(&self) -> Option<GoesOn> {
        self.0.goes_on()
    }

    fn now_ns(&self) -> i64 {
        self.0.now_ns()
    }

    fn random(&self, key: &str) -> u64 {
        self.0.random(key)
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
        self.0.given(function, args).map_or_else(make, |value| Ok(Some(value)))
    }
}
