/* What the test programs share. A failed check ends the program with status 1. */

#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rego_platform.h"

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

/* Checks that `text` contains `part`, and frees it. */
#define CHECK_TEXT(text, part)                                                           \
    do {                                                                                 \
        char *checked = (text);                                                          \
        if (checked == NULL || strstr(checked, (part)) == NULL) {                        \
            fprintf(stderr, "%s:%d: expected %s, found %s\n", __FILE__, __LINE__, part,  \
                    checked == NULL ? "NULL" : checked);                                 \
            exit(1);                                                                     \
        }                                                                                \
        rp_string_free(checked);                                                         \
    } while (0)

static const char RELEASE[] = "package release\n"
                              "\n"
                              "image := platform.discover(input.image, \"CONTAINER_IMAGE\")\n"
                              "\n"
                              "deny contains sprintf(\"no SBOM: %s\", [image.digest]) if {\n"
                              "\tevery reference in image.references { reference.kind != data.wanted }\n"
                              "}\n";

static const rp_source SOURCES[] = {
    {RP_MODULE, "release.rego", RELEASE},
    {RP_DATA, "settings", "{\"wanted\": \"SBOM_CYCLONEDX_JSON\"}"},
};

/* Responds to `discover` with an image that has no references. Counts the calls in `context`. */
static void discover(void *context, const rp_call *calls, size_t count, uint32_t timeout_ms)
{
    CHECK(timeout_ms > 0);
    for (size_t i = 0; i < count; i++) {
        char digest[128], response[512];
        CHECK(strcmp(calls[i].function, "platform.discover") == 0);
        CHECK(sscanf(calls[i].arguments, "[\"%127[^\"]\"", digest) == 1);
        snprintf(response, sizeof response,
                 "{\"digest\": \"%s\", \"kind\": \"CONTAINER_IMAGE\", \"downloadable\": false, "
                 "\"createdAt\": \"2026-01-01T00:00:00Z\", \"references\": []}",
                 digest);
        rp_respond(calls[i].response, response);
        atomic_fetch_add((atomic_int *)context, 1);
    }
}

static rp_policies *load_with(rp_respond_function respond, void *context)
{
    rp_options options = {0};
    options.respond = respond;
    options.context = context;
    char *error = NULL;
    rp_policies *policies = rp_load(SOURCES, 2, &options, &error);
    if (policies == NULL) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    CHECK(error == NULL);
    return policies;
}

#endif
