//! Strings, errors and panics at the boundary to C.

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rego_platform::evaluate::Ledger;
use rego_platform::{Diagnostic, Error};
use serde::Serialize;

/// An error, with the ledger of the evaluation that it ended.
pub(crate) struct Failure {
    error: Error,
    ledger: Option<Ledger>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, ledger: None }
    }
}

impl Failure {
    /// Returns the error for an argument that is NULL.
    pub fn missing(argument: &str) -> Self {
        Error::invalid_argument(format!("missing argument: `{argument}` is NULL")).into()
    }

    /// Adds the ledger of the evaluation.
    pub fn with_ledger(self, ledger: Ledger) -> Self {
        Self { ledger: Some(ledger), ..self }
    }

    /// Returns the error alone.
    pub fn into_error(self) -> Error {
        self.error
    }

    /// Returns the object that C gets.
    fn object(&self) -> Described<'_> {
        let (kind, message) = (self.error.kind().code(), self.error.report());
        let diagnostics = self.error.diagnostics();
        let of_first = diagnostics.first().and_then(|first| first.hint.as_deref());
        let hint = self.error.hint().or(of_first);
        Described { kind, message, hint, diagnostics, ledger: self.ledger.as_ref() }
    }
}

/// An error as C gets it.
#[derive(Serialize)]
struct Described<'a> {
    kind: &'static str,
    message: String,
    hint: Option<&'a str>,
    diagnostics: &'a [Diagnostic],
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<&'a Ledger>,
}

/// A string from C: an argument's name, and its value unless it is NULL.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    argument: &'static str,
    value: Option<&'a CStr>,
}

impl<'a> Text<'a> {
    /// Takes a string from C.
    ///
    /// # Safety
    /// `string` is NULL, or a string that stays valid for `'a`.
    pub unsafe fn new(argument: &'static str, string: *const c_char) -> Self {
        // SAFETY: the caller passes a string that ends with a zero byte.
        let value = (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) });
        Self { argument, value }
    }

    /// Returns the string; `None` for NULL.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](rego_platform::ErrorKind::InvalidArgument) if it isn't UTF-8.
    pub fn optional(self) -> Result<Option<&'a str>, Failure> {
        let text = self.value.map(CStr::to_str).transpose();
        text.map_err(|error| {
            let message = format!("invalid UTF-8: `{}`", self.argument);
            Error::invalid_argument(message).with_source(error).into()
        })
    }

    /// Returns the string.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](rego_platform::ErrorKind::InvalidArgument) if it is NULL or isn't UTF-8.
    pub fn required(self) -> Result<&'a str, Failure> {
        self.optional()?.ok_or_else(|| Failure::missing(self.argument))
    }
}

/// Takes an array from C, which may be NULL if it is empty.
///
/// # Safety
/// `first` is NULL, or points to `count` elements that stay valid for `'a`.
pub(crate) unsafe fn slice<'a, T>(
    argument: &str,
    first: *const T,
    count: usize,
) -> Result<&'a [T], Failure> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::missing(argument)),
        // SAFETY: the caller passes `count` elements.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// Returns the JSON of a value as a string that C frees.
pub(crate) fn json(value: &impl Serialize) -> Result<*mut c_char, Failure> {
    let broken = Error::internal("the result isn't JSON");
    let text = serde_json::to_string(value).map_err(|error| broken.clone().with_source(error))?;
    // It has no zero byte: in a string of JSON it is escaped.
    let text = CString::new(text).map_err(|error| broken.with_source(error))?;
    Ok(text.into_raw())
}

/// Runs `work`. If it fails or panics, sets `*error` to the error and returns `failed`; otherwise to NULL.
///
/// # Safety
/// `error` is NULL, or can be written to.
pub(crate) unsafe fn guarded<T>(
    error: *mut *mut c_char,
    failed: T,
    work: impl FnOnce() -> Result<T, Failure>,
) -> T {
    let run = || match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => (Some(done), std::ptr::null_mut()),
        Ok(Err(failure)) => (None, described(error, &failure)),
        Err(panic) => {
            // Its destructor may panic too.
            std::mem::forget(panic);
            (None, described(error, &Error::internal("the library panicked").into()))
        }
    };
    let (done, text) = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        std::mem::forget(panic);
        (None, std::ptr::null_mut())
    });
    if !error.is_null() {
        // SAFETY: the caller passes a pointer to write to.
        unsafe { error.write(text) };
    }
    done.unwrap_or(failed)
}

/// Returns the text of a failure, if C asks for it.
fn described(error: *mut *mut c_char, failure: &Failure) -> *mut c_char {
    let text = (!error.is_null()).then(|| json(&failure.object()).ok()).flatten();
    text.unwrap_or(std::ptr::null_mut())
}

/// Runs `work`, which has no error to report. A panic ends it.
pub(crate) fn unguarded(work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        std::mem::forget(panic);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    /// A panic whose value panics again when it is dropped.
    struct Explosive;

    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let mut error = std::ptr::null_mut();
        // SAFETY: it can be written to.
        let failed = unsafe { guarded(&raw mut error, 7, || std::panic::panic_any(Explosive)) };
        assert_eq!(failed, 7);
        // SAFETY: it is from `CString::into_raw`.
        let text = unsafe { CString::from_raw(error) }.into_string().unwrap();
        assert!(
            text.starts_with(r#"{"kind":"internal","message":"the library panicked""#),
            "{text}"
        );

        // SAFETY: NULL isn't written to.
        assert_eq!(unsafe { guarded(std::ptr::null_mut(), 7, || panic!("in C")) }, 7);
        // SAFETY: it can be written to.
        assert_eq!(unsafe { guarded(&raw mut error, 7, || Ok(8)) }, 8);
        assert!(error.is_null());
        unguarded(|| std::panic::panic_any(Explosive));
    }
}
