/* Rego policies that query a supply-chain compliance service, for C.

   Written by `cargo xtask header`. Strings are UTF-8 and end with a zero byte. Arguments stay the caller's, and are
   copied where they are kept. Strings and handles that a function returns are the caller's to free.

   A function with `error` sets `*error` to NULL on success, and on failure to JSON: {"kind", "message", "hint",
   "diagnostics"}. Free it with `rp_string_free`. `error` may be NULL. `hint` may be null.

   Any thread can call any function. After `fork`, policies can be evaluated in the child, unless the parent has used
   their service: that is an error at once. Load them again in the child. */

#ifndef REGO_PLATFORM_H
#define REGO_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A Rego file, a data file, a folder or a bundle; `name` is its path, as `opa eval -d` takes it. */
#define RP_PATH 0

/* The text of a Rego module; `name` is its name in messages. */
#define RP_MODULE 1

/* A JSON object that is merged into `data`; `name` is its name in messages. */
#define RP_DATA 2

/* Policies can't call the service. */
#define RP_SERVICE_NONE 0

/* The service is set by the environment, and by the configuration file of the service's command-line client. */
#define RP_SERVICE_CONTEXT 1

/* The service is set by the environment alone. */
#define RP_SERVICE_ENVIRONMENT 2

/* Every input passed. */
#define RP_PASSED 0

/* At least one input failed. */
#define RP_FAILED 1

/* An error kept the gate from a verdict. It must not pass. */
#define RP_NO_VERDICT 2

/* Loaded policies. They don't change: any number of threads can use them at the same time. */
typedef struct rp_policies rp_policies;

/* A handle that cancels the evaluations it was passed to. Any thread can use it. */
typedef struct rp_cancellation rp_cancellation;

/* The response to one call, which the callback sets. */
typedef struct rp_response rp_response;

/* A source of policies or data. */
typedef struct rp_source {
    /* `RP_PATH`, `RP_MODULE` or `RP_DATA`. */
    uint32_t kind;
    /* A path or a name. */
    const char *name;
    /* The text of a module, or JSON; ignored for a path. */
    const char *text;
} rp_source;

/* A call of a function of the service, which the callback responds to. */
typedef struct rp_call {
    /* The full name of the function, such as `platform.discover`. */
    const char *function;
    /* The arguments as a JSON array. Equal calls have equal arguments. */
    const char *arguments;
    /* The response, to be set by `rp_respond` or `rp_respond_error`. */
    rp_response *response;
} rp_call;

/* Responds to `count` independent calls, before `timeout_ms` milliseconds have passed. Everything in `calls` is valid
   until the callback returns. Other threads can set responses, each response one thread, before the callback returns.

   The callback runs on the thread that evaluates. Evaluations on several threads, and those of a gate, run it at the
   same time. It must return: no `longjmp`, and no exception of C++. A cancellation takes effect when it has returned. */
typedef void (*rp_respond_function)(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms);

/* The options of loading. All zero is the default. */
typedef struct rp_options {
    /* `RP_SERVICE_NONE`, `RP_SERVICE_CONTEXT` or `RP_SERVICE_ENVIRONMENT`. */
    uint32_t service;
    /* The name that the service's functions start with; NULL for that of the environment, or `platform`. */
    const char *product;
    /* The callback that responds in place of the service, or NULL. It excludes a service. */
    rp_respond_function respond;
    /* The first argument of the callback. Threads share it. It must be valid until the policies are freed. */
    void *context;
} rp_options;

/* Returns the version of the library, such as `0.1.0`. The caller must not free it. */
const char *rp_version(void);

/* Loads policies and data: checks and compiles them.

   `sources` has `count` elements; `options` may be NULL. Both can be freed after the call. Returns NULL on failure, and
   then sets `*error`. Free the result with `rp_policies_free`.

   Pointers are NULL or valid, and strings end with a zero byte. */
rp_policies *rp_load(const rp_source *sources, size_t count, const rp_options *options, char **error);

/* Frees policies. NULL is ignored. No function may use them at the same time, or afterwards.

   `policies` is NULL, or from `rp_load` and not freed before. */
void rp_policies_free(rp_policies *policies);

/* Checks policies and data without evaluating them.

   Takes the arguments of `rp_load`; of the options, only `product` matters. Returns a JSON array of findings, each with
   `level` (`error` or `warning`), `code`, `message`, `hint` and `position`. It is empty if nothing was found. Returns
   NULL if the sources can't be read, and then sets `*error`. Free the result with `rp_string_free`.

   Pointers are NULL or valid, and strings end with a zero byte. */
char *rp_check(const rp_source *sources, size_t count, const rp_options *options, char **error);

/* Evaluates a query, such as `data.release.deny`, on the calling thread.

   `input` is JSON, or NULL for an evaluation without input. `timeout_ms` is the time limit in milliseconds; 0 is the
   default, 60 s. `cancellation` may be NULL. Returns JSON: `{"result": …, "prints": […], "ledger": {…}}`. The ledger
   has the calls. Free it with `rp_string_free`.

   Returns NULL if there is no result that a verdict can rely on, and then sets `*error`: a failed call, an undefined
   rule, or a call that was skipped because an argument is undefined, as for the input `{}`. The error's object has
   the `ledger` too. It isn't a verdict, and must block a gate.

   Pointers are NULL or valid, and strings end with a zero byte. */
char *rp_evaluate(const rp_policies *policies, const char *query, const char *input, uint32_t timeout_ms, const rp_cancellation *cancellation, char **error);

/* Evaluates every policy over every document, and gives one verdict: `RP_PASSED`, `RP_FAILED` or `RP_NO_VERDICT`.

   `documents` is a JSON object: the name of each document, and the document. `timeout_ms` is the time limit for each
   of them in milliseconds; 0 is the default, 60 s. `cancellation` may be NULL. `report` may be NULL; otherwise
   `*report` is set to the JSON report of the command `rego-platform gate`. Free it with `rp_string_free`.

   If the gate can't run, the verdict is `RP_NO_VERDICT`, `*report` is NULL and `*error` is set. The gate has threads
   of its own, which end before the function returns. In the report of policies with a callback, `answers` is
   `emulator`: the verdict isn't evidence from the service.

   Pointers are NULL or valid, and strings end with a zero byte. */
int rp_gate(const rp_policies *policies, const char *documents, uint32_t timeout_ms, const rp_cancellation *cancellation, char **report, char **error);

/* Sets the response to a call: JSON, which is copied.

   `response` is NULL, or one of the callback's calls, which hasn't returned. `json` is NULL or a string. */
void rp_respond(rp_response *response, const char *json);

/* Lets a call fail with a message, which is copied. The evaluation ends with an error of the kind `host`.

   `response` is NULL, or one of the callback's calls, which hasn't returned. `message` is NULL or a string. */
void rp_respond_error(rp_response *response, const char *message);

/* Creates a handle to cancel evaluations. Free it with `rp_cancellation_free`. */
rp_cancellation *rp_cancellation_new(void);

/* Cancels every evaluation with this handle, now and later. They end with an error of the kind `cancelled`. NULL is
   ignored. Any thread can call it; it isn't safe in a signal handler.

   `cancellation` is NULL, or from `rp_cancellation_new` and not freed. */
void rp_cancel(const rp_cancellation *cancellation);

/* Frees a handle. NULL is ignored. No function may use it at the same time, or afterwards.

   `cancellation` is NULL, or from `rp_cancellation_new` and not freed before. */
void rp_cancellation_free(rp_cancellation *cancellation);

/* Frees a string that this library returned. NULL is ignored.

   `string` is NULL, or a result, a report or an error of this library that isn't freed before. */
void rp_string_free(char *string);

#ifdef __cplusplus
}
#endif

#endif
