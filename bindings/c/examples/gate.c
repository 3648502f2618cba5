/* Gates an image: gate POLICIES RULE INPUT
 *
 * The service is the one that is logged in. The exit status is 0 if the rule has no violation, 1 if it has one, and 2
 * if there is no verdict. Build it with `cc gate.c -I../include -lrego_platform_c`. */

#include <stdio.h>
#include <string.h>

#include "rego_platform.h"

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: %s POLICIES RULE INPUT\n", arguments[0]);
        return 2;
    }
    char *error = NULL;
    rp_source source = {RP_PATH, arguments[1], NULL};
    rp_options options = {RP_SERVICE_CONTEXT, NULL, NULL, NULL};
    rp_policies *policies = rp_load(&source, 1, &options, &error);
    char *result = policies == NULL ? NULL : rp_evaluate(policies, arguments[2], arguments[3], 0, NULL, &error);

    int status = 2; /* An error isn't a verdict: it must block. */
    if (result == NULL) {
        fprintf(stderr, "%s\n", error);
    } else {
        puts(result);
        status = strncmp(result, "{\"result\":[],", 13) == 0 ? 0 : 1;
    }
    rp_string_free(result);
    rp_string_free(error);
    rp_policies_free(policies);
    return status;
}
