/* Verifies a file of ECDSA signatures on all processors: verify FILE
 *
 * A record of the file is a digest of 32 bytes, a length byte and the key, a length byte and the DER signature; the
 * file vectors/secp256k1/bitcoin_block_413567.bin has all signatures of a Bitcoin block. Exit status 0 if all are
 * valid, 1 if not.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turnpike_verify.h"

enum { DIGEST = 32, LEAST_RECORD = DIGEST + 2 };

/* Digests, keys and signatures in the library's format. */
struct records {
    size_t count;
    uint8_t *digests;
    uint8_t *keys;
    uint64_t *key_offsets;
    uint8_t *signatures;
    uint64_t *signature_offsets;
};

static void fail(const char *what) {
    fprintf(stderr, "error: %s\n", what);
    exit(2);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) fail("out of memory");
    return memory;
}

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("the file cannot be opened");
    long size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET)) fail("the file cannot be read");
    uint8_t *bytes = allocate((size_t)size, 1);
    *length = fread(bytes, 1, (size_t)size, file);
    if (*length != (size_t)size) fail("the file cannot be read");
    fclose(file);
    return bytes;
}

/* Appends the item that begins with a length byte at `from`; returns where it ends. */
static const uint8_t *append(const uint8_t *from, const uint8_t *end, uint8_t *bytes, uint64_t *offsets, size_t item) {
    if (from == end || (size_t)(end - from - 1) < *from) fail("the file ends within a record");
    memcpy(bytes + offsets[item], from + 1, *from);
    offsets[item + 1] = offsets[item] + *from;
    return from + 1 + *from;
}

static struct records parse(const uint8_t *bytes, size_t length) {
    size_t most = length / LEAST_RECORD;
    struct records records = {
        .digests = allocate(most, DIGEST),
        .keys = allocate(length, 1),
        .key_offsets = allocate(most + 1, sizeof(uint64_t)),
        .signatures = allocate(length, 1),
        .signature_offsets = allocate(most + 1, sizeof(uint64_t)),
    };
    const uint8_t *at = bytes, *end = bytes + length;
    for (; at != end; records.count++) {
        if (end - at < LEAST_RECORD) fail("the file ends within a record");
        memcpy(records.digests + DIGEST * records.count, at, DIGEST);
        at = append(at + DIGEST, end, records.keys, records.key_offsets, records.count);
        at = append(at, end, records.signatures, records.signature_offsets, records.count);
    }
    return records;
}

static void free_records(struct records *records) {
    free(records->digests);
    free(records->keys);
    free(records->key_offsets);
    free(records->signatures);
    free(records->signature_offsets);
}

int main(int argc, char **argv) {
    if (argc != 2) fail("usage: verify FILE");
    printf("turnpike_verify %s\n", turnpike_verify_version());

    turnpike_verifier *verifier;
    turnpike_status status = turnpike_verifier_new(0, TURNPIKE_BACKEND_FASTEST, &verifier);
    if (status != TURNPIKE_STATUS_OK) fail(turnpike_status_message(status));

    size_t length;
    uint8_t *file = read_file(argv[1], &length);
    struct records records = parse(file, length);
    turnpike_items keys = {.bytes = records.keys, .offsets = records.key_offsets};
    turnpike_items signatures = {.bytes = records.signatures, .offsets = records.signature_offsets};
    uint8_t *codes = allocate(records.count, 1);
    status = turnpike_verify_ecdsa(verifier, TURNPIKE_ECDSA_POLICY_BITCOIN, records.digests, signatures, keys,
                                   records.count, codes);
    if (status > TURNPIKE_STATUS_INVALID) fail(turnpike_status_message(status));

    size_t valid = 0;
    for (size_t item = 0; item < records.count; item++) {
        if (codes[item] == TURNPIKE_VALID)
            valid++;
        else
            printf("signature %zu: %s\n", item, turnpike_rule_message(codes[item]));
    }
    printf("%zu of %zu signatures are valid\n", valid, records.count);

    free(codes);
    free_records(&records);
    free(file);
    turnpike_verifier_free(verifier);
    return status == TURNPIKE_STATUS_OK ? 0 : 1;
}
