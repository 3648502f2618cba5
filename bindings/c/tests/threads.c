/* 64 threads evaluate the same policies, each with inputs of its own, and some of them run gates or cancel. */

#include <pthread.h>
#include <time.h>

#include "support.h"

enum { THREADS = 64, ROUNDS = 8 };

static rp_policies *policies, *endless;
static atomic_int responses;

static void *evaluate(void *argument)
{
    int thread = (int)(size_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        char input[128], expected[128], *error = (char *)"unset";
        snprintf(input, sizeof input, "{\"image\": \"sha256:%060x%04x\"}", thread, round);
        snprintf(expected, sizeof expected, "\"result\":[\"no SBOM: sha256:%060x%04x\"]", thread, round);
        char *result = rp_evaluate(policies, "data.release.deny", input, 0, NULL, &error);
        CHECK(error == NULL);
        CHECK_TEXT(result, expected);
    }
    if (thread % 8 == 0) {
        char documents[160], *report, *error;
        snprintf(documents, sizeof documents, "{\"a.json\": {\"image\": \"sha256:%064x\"}}", thread);
        CHECK(rp_gate(policies, documents, 0, NULL, &report, &error) == RP_FAILED);
        CHECK(error == NULL);
        CHECK_TEXT(report, "\"outcome\":\"failed\"");
    }
    return NULL;
}

static void *run_endlessly(void *cancellation)
{
    char *error;
    char *result = rp_evaluate(endless, "data.endless.n", NULL, 60000, cancellation, &error);
    CHECK(result == NULL);
    CHECK_TEXT(error, "\"kind\":\"cancelled\"");
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
    pthread_t threads[THREADS];
    policies = load_with(discover, &responses);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, evaluate, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(atomic_load(&responses) == THREADS * ROUNDS + THREADS / 8);
    rp_policies_free(policies);

    rp_source source = {RP_MODULE, "endless.rego",
                        "package endless\n\nn := count([1 | some x in numbers.range(1, 100000); some y in "
                        "numbers.range(1, 100000); x * y < 0])\n"};
    endless = rp_load(&source, 1, NULL, NULL);
    CHECK(endless != NULL);
    rp_cancellation *cancellation = rp_cancellation_new();
    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, run_endlessly, cancellation) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    double cancelled = seconds();
    rp_cancel(cancellation);
    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    /* Far below the time limit, on a busy machine too. */
    CHECK(seconds() - cancelled < 10);

    char *error;
    CHECK(rp_evaluate(endless, "data.endless.n", NULL, 50, NULL, &error) == NULL);
    CHECK_TEXT(error, "\"kind\":\"timed-out\"");
    rp_cancellation_free(cancellation);
    rp_policies_free(endless);
    return 0;
}
