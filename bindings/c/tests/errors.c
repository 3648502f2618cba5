/* Every function with what a host may get wrong: an error as JSON, and no crash. */

#include "support.h"

static rp_policies *fails(const rp_source *sources, size_t count, const rp_options *options, const char *expected)
{
    char *error = NULL;
    CHECK(rp_load(sources, count, options, &error) == NULL);
    CHECK_TEXT(error, expected);
    CHECK(rp_load(sources, count, options, NULL) == NULL);
    return NULL;
}

static void refuses(const rp_policies *policies, const char *query, const char *input, const char *expected)
{
    char *error = NULL;
    CHECK(rp_evaluate(policies, query, input, 0, NULL, &error) == NULL);
    CHECK_TEXT(error, expected);
    CHECK(rp_evaluate(policies, query, input, 0, NULL, NULL) == NULL);
}

static void gives_nothing(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms)
{
    (void)context, (void)calls, (void)count, (void)timeout_ms;
}

static void gives_no_json(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms)
{
    (void)context, (void)timeout_ms;
    for (size_t i = 0; i < count; i++)
        rp_respond(calls[i].response, "{\"digest\"");
}

static void gives_null(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms)
{
    (void)context, (void)timeout_ms;
    for (size_t i = 0; i < count; i++)
        rp_respond(calls[i].response, NULL);
}

static void gives_another_type(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms)
{
    (void)context, (void)timeout_ms;
    for (size_t i = 0; i < count; i++)
        rp_respond(calls[i].response, "{\"digest\": 7}");
}

static void gives_an_error(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms)
{
    (void)context, (void)timeout_ms;
    for (size_t i = 0; i < count; i++)
        rp_respond_error(calls[i].response, "the registry \"r\" is closed");
}

static const char IMAGE[] =
    "{\"image\": \"sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477\"}";

static void callback_error(rp_respond_function respond, const char *expected)
{
    char *report = NULL, *error = NULL, documents[160];
    rp_policies *policies = load_with(respond, NULL);
    refuses(policies, "data.release.deny", IMAGE, expected);
    snprintf(documents, sizeof documents, "{\"a\": %s}", IMAGE);
    CHECK(rp_gate(policies, documents, 0, NULL, &report, &error) == RP_NO_VERDICT);
    CHECK(error == NULL);
    CHECK_TEXT(report, "\"outcome\":\"no_verdict\"");
    rp_policies_free(policies);
}

int main(void)
{
    char *error = NULL, *report = NULL;
    atomic_int responses = 0;
    CHECK(strchr(rp_version(), '.') != NULL);

    /* Sources. */
    fails(NULL, 1, NULL, "\"message\":\"missing argument: `sources` is NULL\"");
    rp_source source = {9, "a", "b"};
    fails(&source, 1, NULL, "unknown kind of source: 9");
    source = (rp_source){RP_MODULE, "p.rego", NULL};
    fails(&source, 1, NULL, "missing argument: `text` is NULL");
    source = (rp_source){RP_MODULE, NULL, "package p"};
    fails(&source, 1, NULL, "missing argument: `name` is NULL");
    source = (rp_source){RP_MODULE, "p.rego", "package p\n\nx := \"\xff\"\n"};
    fails(&source, 1, NULL, "invalid UTF-8: `text`");
    source = (rp_source){RP_PATH, "/no/such/folder", NULL};
    fails(&source, 1, NULL, "/no/such/folder");
    source = (rp_source){RP_DATA, "numbers", "[1]"};
    fails(&source, 1, NULL, "\"kind\":\"policy\"");
    source = (rp_source){RP_DATA, "twice", "{\"a\": 1, \"a\": 2}"};
    fails(&source, 1, NULL, "\"kind\":\"policy\"");
    source = (rp_source){RP_MODULE, "p.rego", "package p\n\ndeny contains 1 if platform.discver(input.image)\n"};
    fails(&source, 1, NULL, "did you mean");

    /* Findings, with their places. */
    CHECK_TEXT(rp_check(&source, 1, NULL, &error), "\"line\":3");
    CHECK(error == NULL);
    CHECK(rp_check(NULL, 1, NULL, &error) == NULL);
    CHECK_TEXT(error, "\"kind\":\"invalid-argument\"");
    CHECK_TEXT(rp_check(SOURCES, 2, NULL, NULL), "[]");

    /* Options. */
    rp_options options = {0};
    options.service = 7;
    fails(SOURCES, 2, &options, "unknown service: 7");
    options = (rp_options){RP_SERVICE_CONTEXT, NULL, discover, &responses};
    fails(SOURCES, 2, &options, "conflicting arguments");
    options = (rp_options){RP_SERVICE_NONE, "No Name", discover, &responses};
    fails(SOURCES, 2, &options, "\"kind\":\"configuration\"");

    /* Evaluations. */
    rp_policies *policies = load_with(discover, &responses);
    refuses(NULL, "data.release.deny", IMAGE, "`policies` is NULL");
    refuses(policies, NULL, IMAGE, "`query` is NULL");
    refuses(policies, "data.release.deny", "{", "`input` isn't JSON");
    refuses(policies, "data.release.deny", "\"\xff\"", "invalid UTF-8: `input`");
    refuses(policies, "data.release.", IMAGE, "\"kind\":\"policy\"");
    refuses(policies, "data.release.dney", IMAGE, "rule undefined: `data.release.dney`");
    CHECK(atomic_load(&responses) == 0);
    /* What the input lacks doesn't pass. */
    refuses(policies, "data.release.deny", "{}", "call skipped: argument `input.image` is undefined");
    refuses(policies, "data.release.deny", NULL, "call skipped");
    refuses(policies, "data.release.deny", "{}", "\"ledger\":{\"passes\":");

    /* Gates. */
    CHECK(rp_gate(NULL, "{}", 0, NULL, &report, &error) == RP_NO_VERDICT);
    CHECK(report == NULL);
    CHECK_TEXT(error, "`policies` is NULL");
    CHECK(rp_gate(policies, NULL, 0, NULL, NULL, NULL) == RP_NO_VERDICT);
    CHECK(rp_gate(policies, "[]", 0, NULL, &report, &error) == RP_NO_VERDICT);
    CHECK_TEXT(error, "`documents` isn't a JSON object");
    CHECK(rp_gate(policies, "{}", 0, NULL, &report, &error) == RP_NO_VERDICT);
    CHECK(report == NULL);
    CHECK_TEXT(error, "\"hint\":");
    CHECK(rp_gate(policies, "{\"a.json\": {}}", 0, NULL, &report, &error) == RP_NO_VERDICT);
    CHECK(error == NULL);
    CHECK_TEXT(report, "call skipped");

    /* A cancelled handle. */
    rp_cancellation *cancellation = rp_cancellation_new();
    rp_cancel(cancellation);
    CHECK(rp_evaluate(policies, "data.release.deny", IMAGE, 0, cancellation, &error) == NULL);
    CHECK_TEXT(error, "\"kind\":\"cancelled\"");
    CHECK(rp_gate(policies, "{\"a\": {\"image\": \"sha256:1\"}}", 0, cancellation, NULL, &error) == RP_NO_VERDICT);
    rp_cancellation_free(cancellation);
    rp_policies_free(policies);

    /* Callbacks. */
    callback_error(gives_nothing, "no response from the callback");
    callback_error(gives_no_json, "the callback's response isn't JSON");
    callback_error(gives_null, "missing argument: `json` is NULL");
    callback_error(gives_another_type, "\"kind\":\"protocol\"");
    callback_error(gives_an_error, "the registry \\\"r\\\" is closed");
    callback_error(NULL, "\"kind\":\"not-answered\"");

    /* Numbers have all their digits, and text all its characters. */
    source = (rp_source){RP_MODULE, "p.rego", "package p\n\nx := [input, \"a\\u0000é\"] if print(\"seen\", input)\n"};
    policies = rp_load(&source, 1, NULL, NULL);
    CHECK(policies != NULL);
    char *result = rp_evaluate(policies, "data.p.x", "12345678901234567890.123456789", 0, NULL, NULL);
    CHECK(strstr(result, "[12345678901234567890.123456789,\"a\\u0000é\"]") != NULL);
    CHECK_TEXT(result, "\"prints\":[\"seen 12345678901234567890.123456789\"]");
    /* It has no verdict rule, so it isn't a gate. */
    CHECK(rp_gate(policies, "{\"a\": 1}", 0, NULL, NULL, &error) == RP_NO_VERDICT);
    CHECK_TEXT(error, "\"kind\":");
    rp_policies_free(policies);

    rp_policies_free(NULL);
    rp_cancellation_free(NULL);
    rp_cancel(NULL);
    rp_string_free(NULL);
    rp_respond(NULL, "1");
    rp_respond_error(NULL, "1");
    return 0;
}
