//! Rego policies that query a supply-chain compliance service, for C.
//!
//! Every function, type and constant of `include/rego_platform.h` is in this file, from which `cargo xtask header`
//! writes it. Nothing is decided here: results are those of `rego_platform`, verdicts those of `rego_platform_gate`.
//! `boundary` has the strings and errors, `loaded` the policies, `respond` the host's callback.
//!
//! No function unwinds into C: a panic is an error of the kind `internal`.

mod boundary;
mod loaded;
mod respond;

use std::ffi::{CString, c_char, c_int, c_void};

use boundary::{Failure, Text, guarded, slice, unguarded};
use rego_platform::evaluate;

/// A Rego file, a data file, a folder or a bundle; `name` is its path, as `opa eval -d` takes it.
pub const RP_PATH: u32 = 0;
/// The text of a Rego module; `name` is its name in messages.
pub const RP_MODULE: u32 = 1;
/// A JSON object that is merged into `data`; `name` is its name in messages.
pub const RP_DATA: u32 = 2;

/// Policies can't call the service.
pub const RP_SERVICE_NONE: u32 = 0;
/// The service is set by the environment, and by the configuration file of the service's command-line client.
pub const RP_SERVICE_CONTEXT: u32 = 1;
/// The service is set by the environment alone.
pub const RP_SERVICE_ENVIRONMENT: u32 = 2;

/// Every input passed.
pub const RP_PASSED: c_int = 0;
/// At least one input failed.
pub const RP_FAILED: c_int = 1;
/// An error kept the gate from a verdict. It must not pass.
pub const RP_NO_VERDICT: c_int = 2;

/// Loaded policies. They don't change: any number of threads can use them at the same time.
pub struct Policies(loaded::Loaded);

/// A handle that cancels the evaluations it was passed to. Any thread can use it.
pub struct Cancellation(evaluate::Cancellation);

/// The response to one call, which the callback sets.
pub struct Response(respond::Slot);

/// A source of policies or data.
#[repr(C)]
pub struct Source {
    /// `RP_PATH`, `RP_MODULE` or `RP_DATA`.
    pub kind: u32,
    /// A path or a name.
    pub name: *const c_char,
    /// The text of a module, or JSON; ignored for a path.
    pub text: *const c_char,
}

/// A call of a function of the service, which the callback responds to.
#[repr(C)]
pub struct Call {
    /// The full name of the function, such as `platform.discover`.
    pub function: *const c_char,
    /// The arguments as a JSON array. Equal calls have equal arguments.
    pub arguments: *const c_char,
    /// The response, to be set by `rp_respond` or `rp_respond_error`.
    pub response: *mut Response,
}

/// Responds to `count` independent calls, before `timeout_ms` milliseconds have passed. Everything in `calls` is valid
/// until the callback returns. Other threads can set responses, each response one thread, before the callback returns.
///
/// The callback runs on the thread that evaluates. Evaluations on several threads, and those of a gate, run it at the
/// same time. It must return: no `longjmp`, and no exception of C++. A cancellation takes effect when it has returned.
pub type RespondFunction =
    unsafe extern "C" fn(context: *mut c_void, calls: *const Call, count: usize, timeout_ms: u32);

/// The options of loading. All zero is the default.
#[repr(C)]
pub struct Options {
    /// `RP_SERVICE_NONE`, `RP_SERVICE_CONTEXT` or `RP_SERVICE_ENVIRONMENT`.
    pub service: u32,
    /// The name that the service's functions start with; NULL for that of the environment, or `platform`.
    pub product: *const c_char,
    /// The callback that responds in place of the service, or NULL. It excludes a service.
    pub respond: Option<RespondFunction>,
    /// The first argument of the callback. Threads share it. It must be valid until the policies are freed.
    pub context: *mut c_void,
}

/// Returns the version of the library, such as `0.1.0`. The caller must not free it.
#[unsafe(no_mangle)]
pub extern "C" fn rp_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Loads policies and data: checks and compiles them.
///
/// `sources` has `count` elements; `options` may be NULL. Both can be freed after the call. Returns NULL on failure, and
/// then sets `*error`. Free the result with `rp_policies_free`.
///
/// # Safety
/// Pointers are NULL or valid, and strings end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_load(
    sources: *const Source,
    count: usize,
    options: *const Options,
    error: *mut *mut c_char,
) -> *mut Policies {
    let load = || {
        // SAFETY: the caller passes an array of `count` elements.
        let sources = unsafe { slice("sources", sources, count) }?;
        // SAFETY: the caller passes NULL or valid options.
        let options = unsafe { options.as_ref() };
        let loaded = loaded::Loaded::load(sources, options)?;
        Ok(Box::into_raw(Box::new(Policies(loaded))))
    };
    // SAFETY: the caller passes NULL or a pointer to write to.
    unsafe { guarded(error, std::ptr::null_mut(), load) }
}

/// Frees policies. NULL is ignored. No function may use them at the same time, or afterwards.
///
/// # Safety
/// `policies` is NULL, or from `rp_load` and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_policies_free(policies: *mut Policies) {
    if !policies.is_null() {
        // SAFETY: it is from `Box::into_raw` in `rp_load`, and the caller frees it once.
        unguarded(|| drop(unsafe { Box::from_raw(policies) }));
    }
}

/// Checks policies and data without evaluating them.
///
/// Takes the arguments of `rp_load`; of the options, only `product` matters. Returns a JSON array of findings, each with
/// `level` (`error` or `warning`), `code`, `message`, `hint` and `position`. It is empty if nothing was found. Returns
/// NULL if the sources can't be read, and then sets `*error`. Free the result with `rp_string_free`.
///
/// # Safety
/// Pointers are NULL or valid, and strings end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_check(
    sources: *const Source,
    count: usize,
    options: *const Options,
    error: *mut *mut c_char,
) -> *mut c_char {
    let check = || {
        // SAFETY: the caller passes an array of `count` elements.
        let sources = unsafe { slice("sources", sources, count) }?;
        // SAFETY: the caller passes NULL or valid options.
        let options = unsafe { options.as_ref() };
        boundary::json(&loaded::check(sources, options)?)
    };
    // SAFETY: the caller passes NULL or a pointer to write to.
    unsafe { guarded(error, std::ptr::null_mut(), check) }
}

/// Evaluates a query, such as `data.release.deny`, on the calling thread.
///
/// `input` is JSON, or NULL for an evaluation without input. `timeout_ms` is the time limit in milliseconds; 0 is the
/// default, 60 s. `cancellation` may be NULL. Returns JSON: `{"result": …, "prints": […], "ledger": {…}}`. The ledger
/// has the calls. Free it with `rp_string_free`.
///
/// Returns NULL if there is no result that a verdict can rely on, and then sets `*error`: a failed call, an undefined
/// rule, or a call that was skipped because an argument is undefined, as for the input `{}`. The error's object has
/// the `ledger` too. It isn't a verdict, and must block a gate.
///
/// # Safety
/// Pointers are NULL or valid, and strings end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_evaluate(
    policies: *const Policies,
    query: *const c_char,
    input: *const c_char,
    timeout_ms: u32,
    cancellation: *const Cancellation,
    error: *mut *mut c_char,
) -> *mut c_char {
    let evaluate = || {
        // SAFETY: the caller passes NULL or policies of `rp_load` that aren't freed.
        let policies = unsafe { policies.as_ref() };
        let policies = policies.ok_or_else(|| Failure::missing("policies"))?;
        // SAFETY: the caller passes NULL or a string.
        let query = unsafe { Text::new("query", query) }.required()?;
        // SAFETY: the caller passes NULL or a string.
        let input = unsafe { Text::new("input", input) }.optional()?;
        // SAFETY: the caller passes NULL or a handle that isn't freed.
        let cancellation = unsafe { cancellation.as_ref() }.map(|own| &own.0);
        boundary::json(&policies.0.evaluate(query, input, timeout_ms, cancellation)?)
    };
    // SAFETY: the caller passes NULL or a pointer to write to.
    unsafe { guarded(error, std::ptr::null_mut(), evaluate) }
}

/// Evaluates every policy over every document, and gives one verdict: `RP_PASSED`, `RP_FAILED` or `RP_NO_VERDICT`.
///
/// `documents` is a JSON object: the name of each document, and the document. `timeout_ms` is the time limit for each
/// of them in milliseconds; 0 is the default, 60 s. `cancellation` may be NULL. `report` may be NULL; otherwise
/// `*report` is set to the JSON report of the command `rego-platform gate`. Free it with `rp_string_free`.
///
/// If the gate can't run, the verdict is `RP_NO_VERDICT`, `*report` is NULL and `*error` is set. The gate has threads
/// of its own, which end before the function returns. In the report of policies with a callback, `answers` is
/// `emulator`: the verdict isn't evidence from the service.
///
/// # Safety
/// Pointers are NULL or valid, and strings end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_gate(
    policies: *const Policies,
    documents: *const c_char,
    timeout_ms: u32,
    cancellation: *const Cancellation,
    report: *mut *mut c_char,
    error: *mut *mut c_char,
) -> c_int {
    if !report.is_null() {
        // SAFETY: the caller passes a pointer to write to.
        unsafe { report.write(std::ptr::null_mut()) };
    }
    let gate = || {
        // SAFETY: the caller passes NULL or policies of `rp_load` that aren't freed.
        let policies = unsafe { policies.as_ref() };
        let policies = policies.ok_or_else(|| Failure::missing("policies"))?;
        // SAFETY: the caller passes NULL or a string.
        let documents = unsafe { Text::new("documents", documents) }.required()?;
        // SAFETY: the caller passes NULL or a handle that isn't freed.
        let cancellation = unsafe { cancellation.as_ref() }.map(|own| &own.0);
        let (verdict, model) = policies.0.gate(documents, timeout_ms, cancellation)?;
        if !report.is_null() {
            let text = boundary::json(&model)?;
            // SAFETY: the caller passes a pointer to write to.
            unsafe { report.write(text) };
        }
        Ok(verdict)
    };
    // SAFETY: the caller passes NULL or a pointer to write to.
    unsafe { guarded(error, RP_NO_VERDICT, gate) }
}

/// Sets the response to a call: JSON, which is copied.
///
/// # Safety
/// `response` is NULL, or one of the callback's calls, which hasn't returned. `json` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_respond(response: *mut Response, json: *const c_char) {
    // SAFETY: the caller passes NULL, or a response that no other thread uses.
    if let Some(response) = unsafe { response.as_mut() } {
        // SAFETY: the caller passes NULL or a string.
        let json = unsafe { Text::new("json", json) };
        unguarded(|| response.0.set(json));
    }
}

/// Lets a call fail with a message, which is copied. The evaluation ends with an error of the kind `host`.
///
/// # Safety
/// `response` is NULL, or one of the callback's calls, which hasn't returned. `message` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_respond_error(response: *mut Response, message: *const c_char) {
    // SAFETY: the caller passes NULL, or a response that no other thread uses.
    if let Some(response) = unsafe { response.as_mut() } {
        // SAFETY: the caller passes NULL or a string.
        let message = unsafe { Text::new("message", message) };
        unguarded(|| response.0.fail(message));
    }
}

/// Creates a handle to cancel evaluations. Free it with `rp_cancellation_free`.
#[unsafe(no_mangle)]
pub extern "C" fn rp_cancellation_new() -> *mut Cancellation {
    let new = || Ok(Box::into_raw(Box::new(Cancellation(evaluate::Cancellation::new()))));
    // SAFETY: NULL isn't written to.
    unsafe { guarded(std::ptr::null_mut(), std::ptr::null_mut(), new) }
}

/// Cancels every evaluation with this handle, now and later. They end with an error of the kind `cancelled`. NULL is
/// ignored. Any thread can call it; it isn't safe in a signal handler.
///
/// # Safety
/// `cancellation` is NULL, or from `rp_cancellation_new` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_cancel(cancellation: *const Cancellation) {
    // SAFETY: the caller passes NULL or a handle that isn't freed.
    if let Some(cancellation) = unsafe { cancellation.as_ref() } {
        unguarded(|| cancellation.0.cancel());
    }
}

/// Frees a handle. NULL is ignored. No function may use it at the same time, or afterwards.
///
/// # Safety
/// `cancellation` is NULL, or from `rp_cancellation_new` and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_cancellation_free(cancellation: *mut Cancellation) {
    if !cancellation.is_null() {
        // SAFETY: it is from `Box::into_raw` in `rp_cancellation_new`, and the caller frees it once.
        unguarded(|| drop(unsafe { Box::from_raw(cancellation) }));
    }
}

/// Frees a string that this library returned. NULL is ignored.
///
/// # Safety
/// `string` is NULL, or a result, a report or an error of this library that isn't freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_string_free(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: it is from `CString::into_raw`, and the caller frees it once.
        unguarded(|| drop(unsafe { CString::from_raw(string) }));
    }
}
