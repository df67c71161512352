/* Evaluates a delay and verifies it: delay MODULUS MESSAGE SQUARINGS
 *
 * The modulus is an odd number in hexadecimal digits, of up to 512 bytes. Prints the progress ten times, then the
 * length of the proof and the first bytes of the result.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turnpike_verify.h"

enum { MOST_BYTES = 512, SHOWN = 8 };

struct way {
    uint64_t squarings;
    unsigned tenths;
};

static void fail(const char *what) {
    fprintf(stderr, "error: %s\n", what);
    exit(2);
}

static size_t parse(const char *digits, uint8_t *bytes) {
    size_t length = strlen(digits) / 2;
    if (strlen(digits) % 2 || length > MOST_BYTES) fail("the modulus has an odd number of digits, or too many");
    for (size_t at = 0; at < length; at++) {
        if (sscanf(digits + 2 * at, "%2" SCNx8, &bytes[at]) != 1) fail("the modulus is not hexadecimal");
    }
    return length;
}

static bool progress(void *context, uint64_t done) {
    struct way *way = context;
    while (done * 10 >= way->squarings * (way->tenths + 1)) printf("%u0 %%\n", ++way->tenths);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 4) fail("usage: delay MODULUS MESSAGE SQUARINGS");
    uint8_t modulus[MOST_BYTES], result[MOST_BYTES];
    size_t length = parse(argv[1], modulus);
    const uint8_t *message = (const uint8_t *)argv[2];
    struct way way = {.squarings = strtoull(argv[3], NULL, 10)};

    size_t proof_length = turnpike_delay_proof_length(length, way.squarings);
    uint8_t *proof = malloc(proof_length + 1);
    if (!proof) fail("out of memory");
    turnpike_status status = turnpike_delay_evaluate(modulus, length, message, strlen(argv[2]), way.squarings, progress,
                                                     &way, proof);
    if (status != TURNPIKE_STATUS_OK) fail(turnpike_status_message(status));
    status = turnpike_verify_delay(modulus, length, message, strlen(argv[2]), way.squarings, proof, proof_length, result);
    if (status != TURNPIKE_STATUS_OK) fail(turnpike_status_message(status));

    printf("proved in %zu bytes: ", proof_length);
    for (size_t at = 0; at < length && at < SHOWN; at++) printf("%02x", result[at]);
    printf("\n");
    free(proof);
    return 0;
}
