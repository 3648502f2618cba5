/* Children of a process with threads evaluate. Those whose parent has used the service get an error at once, and can
   load the policies again. The environment names the service. */

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static const char IMAGE[] =
    "{\"image\": \"sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477\"}";

/* The allocator of GCC's address sanitizer isn't safe to fork while other threads use it. */
#ifdef __SANITIZE_ADDRESS__
enum { THREADS = 0, FORKS = 1 };
#else
enum { THREADS = 4, FORKS = 10 };
#endif

static rp_policies *local;
static atomic_int responses, stop;

static void *evaluate_until_stopped(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop))
        CHECK_TEXT(rp_evaluate(local, "data.release.deny", IMAGE, 0, NULL, NULL), "no SBOM");
    return NULL;
}

/* Runs `work` in a child, which a signal ends if it hangs. */
static void in_child(void (*work)(rp_policies *), rp_policies *policies)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        work(policies);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void evaluates(rp_policies *policies)
{
    char *report = NULL, *error = NULL, documents[160];
    CHECK_TEXT(rp_evaluate(policies, "data.release.deny", IMAGE, 0, NULL, NULL), "no SBOM");
    snprintf(documents, sizeof documents, "{\"a\": %s}", IMAGE);
    CHECK(rp_gate(policies, documents, 0, NULL, &report, &error) == RP_FAILED);
    rp_string_free(report);
}

static rp_policies *of_service(void)
{
    rp_options options = {0};
    options.service = RP_SERVICE_ENVIRONMENT;
    char *error = NULL;
    rp_policies *policies = rp_load(SOURCES, 2, &options, &error);
    if (policies == NULL)
        fprintf(stderr, "%s\n", error);
    CHECK(policies != NULL);
    return policies;
}

static void passes(rp_policies *policies)
{
    char *error = NULL;
    char *result = rp_evaluate(policies, "data.release.deny", IMAGE, 20000, NULL, &error);
    if (result == NULL)
        fprintf(stderr, "%s\n", error);
    CHECK_TEXT(result, "\"result\":[]");
}

static void is_refused_and_loads_again(rp_policies *policies)
{
    char *error = NULL;
    CHECK(rp_evaluate(policies, "data.release.deny", IMAGE, 20000, NULL, &error) == NULL);
    CHECK_TEXT(error, "forked after the platform's first request");
    rp_policies *again = of_service();
    passes(again);
    rp_policies_free(again);
}

int main(void)
{
    pthread_t threads[THREADS + 1];
    local = load_with(discover, &responses);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, evaluate_until_stopped, NULL) == 0);
    for (int i = 0; i < FORKS; i++)
        in_child(evaluates, local);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    rp_policies_free(local);

    rp_policies *service = of_service();
    in_child(passes, service);
    passes(service);
    in_child(is_refused_and_loads_again, service);
    passes(service);
    rp_policies_free(service);
    return 0;
}
