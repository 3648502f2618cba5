//! Responses of the host's callback, in place of the service's.

use std::ffi::{CString, c_void};
use std::future::ready;
use std::pin::Pin;
use std::time::Instant;

use rego_platform::evaluate::{FunctionCall, Responder};
use rego_platform::{Error, Value};

use crate::boundary::{Failure, Text};
use crate::{Call, RespondFunction, Response};

/// The response to one call, once it is set.
pub(crate) struct Slot(Option<Result<Value, Error>>);

impl Slot {
    /// Sets the response to JSON.
    pub fn set(&mut self, json: Text<'_>) {
        self.0 = Some(json.required().map_err(Failure::into_error).and_then(|json| {
            Value::from_json(json).map_err(|error| {
                Error::protocol("the callback's response isn't JSON").with_source(error)
            })
        }));
    }

    /// Sets the response to an error.
    pub fn fail(&mut self, message: Text<'_>) {
        let message = message.required().map_err(Failure::into_error);
        self.0 = Some(Err(message.map_or_else(|error| error, Error::host_failed)));
    }
}

/// The host's callback.
#[derive(Debug)]
pub(crate) struct Callback {
    respond: RespondFunction,
    context: Context,
}

/// The first argument of the callback.
#[derive(Debug, Clone, Copy)]
struct Context(*mut c_void);

// SAFETY: nothing here reads it. The host, which does, is told that threads share it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Callback {
    pub fn new(respond: RespondFunction, context: *mut c_void) -> Self {
        Self { respond, context: Context(context) }
    }

    fn ask(&self, calls: &[FunctionCall], deadline: Instant) -> Vec<Result<Value, Error>> {
        let texts: Result<Vec<_>, _> = calls.iter().map(texts).collect();
        let texts = match texts {
            Ok(texts) => texts,
            Err(error) => return calls.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut responses: Vec<_> = calls.iter().map(|_| Response(Slot(None))).collect();
        let both = texts.iter().zip(&mut responses);
        let passed: Vec<Call> = both
            .map(|((function, arguments), response)| Call {
                function: function.as_ptr(),
                arguments: arguments.as_ptr(),
                response: std::ptr::from_mut(response),
            })
            .collect();
        let left = deadline.saturating_duration_since(Instant::now()).as_millis();
        let timeout = u32::try_from(left).unwrap_or(u32::MAX);
        // SAFETY: the host passed the function with its context. The calls live until it returns, and nothing else
        // uses the responses before.
        unsafe { (self.respond)(self.context.0, passed.as_ptr(), passed.len(), timeout) };
        drop(passed);
        let missing = || Err(Error::not_answered("no response from the callback"));
        responses.into_iter().map(|own| own.0.0.unwrap_or_else(missing)).collect()
    }
}

/// Returns a call's function and arguments as C reads them.
fn texts(call: &FunctionCall) -> Result<(CString, CString), Error> {
    let text = |text: String| {
        CString::new(text)
            .map_err(|error| Error::internal("a zero byte in a call").with_source(error))
    };
    Ok((text(call.function.to_string())?, text(Value::from(call.arguments.clone()).to_json())?))
}

impl Responder for Callback {
    fn answer<'a>(
        &'a self,
        calls: &'a [FunctionCall],
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, Error>>> + Send + 'a>> {
        Box::pin(ready(self.ask(calls, deadline)))
    }
}
