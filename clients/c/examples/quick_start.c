/* Transfers money, and proves the transfer and the balance of the receiver: quick_start HOST:PORT [NETWORK-ID]
 *
 * Run it beside a node that trusts this machine: turnpike serve --data data --trusted 127.0.0.0/8
 * With the network id, 64 hexadecimal digits, it accepts no other network. Exit status 0 on success.
 */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "turnpike.h"

static turnpike_error error;

static void check(turnpike_client_status status) {
    if (status == TURNPIKE_OK) return;
    fprintf(stderr, "error: %s: %s\n", turnpike_status_name(status), error.message);
    exit(1);
}

/* Creates an account, unless it exists. */
static void create(turnpike_client *client, const turnpike_id *account) {
    turnpike_client_status status = turnpike_create(client, account, NULL, NULL, &error);
    if (status != TURNPIKE_ACCOUNT_EXISTS) check(status);
}

/* The network id in hexadecimal; false if it is not one. */
static bool parse_network(const char *text, uint8_t network[32]) {
    if (strlen(text) != 64 || strspn(text, "0123456789abcdefABCDEF") != 64) return false;
    for (size_t at = 0; at < 32; at++) {
        char digits[3] = {text[2 * at], text[2 * at + 1], 0};
        network[at] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return true;
}

/* Waits until the transfer is in a block, and proves it. */
static void prove_transfer(turnpike_client *client, turnpike_chain *chain, const turnpike_id *id,
                           const turnpike_id *source) {
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    turnpike_transaction_proof proof;
    turnpike_client_status status;
    for (int attempt = 0; attempt < 600; attempt++) {
        status = turnpike_prove_transaction(client, chain, id, source, &proof, NULL, 0, NULL, &error);
        if (status != TURNPIKE_NOT_FOUND) break;
        nanosleep(&pause, NULL);
    }
    check(status);
    printf("proved: it is transaction %" PRIu32 " of block %" PRIu64 "\n", proof.position, proof.height);
}

/* Proves a balance, and verifies the proof again with headers that were saved, without a node. */
static void prove_balance(turnpike_client *client, turnpike_chain *chain, const turnpike_id *account) {
    static uint8_t proof[TURNPIKE_PROOF_LENGTH];
    turnpike_balance_proof balance, again;
    size_t proof_length, saved_length;
    check(turnpike_prove_balance(client, chain, account, &balance, proof, sizeof proof, &proof_length, &error));
    printf("proved: bob has %" PRIu64 " as of block %" PRIu64 "\n", balance.balance, balance.height);

    turnpike_client_status status = turnpike_chain_save(chain, NULL, 0, &saved_length, &error);
    if (status != TURNPIKE_BUFFER) check(status);
    uint8_t *saved = malloc(saved_length);
    if (!saved) exit(1);
    check(turnpike_chain_save(chain, saved, saved_length, &saved_length, &error));
    turnpike_chain_state state;
    check(turnpike_chain_read(chain, &state));
    turnpike_chain *restored;
    check(turnpike_chain_restore(state.network, saved, saved_length, &restored, &error));
    check(turnpike_verify_balance(restored, account, proof, proof_length, &again, &error));
    printf("verified again without a node: %" PRIu64 "\n", again.balance);
    turnpike_chain_free(restored);
    free(saved);
}

int main(int argc, char **argv) {
    uint8_t network[32];
    if (argc < 2 || argc > 3 || (argc == 3 && !parse_network(argv[2], network))) {
        fprintf(stderr, "usage: quick_start HOST:PORT [NETWORK-ID]\n");
        return 2;
    }
    turnpike_options options = {.size = sizeof options, .promise = TURNPIKE_PROMISE_DURABLE};
    const char *nodes[] = {argv[1]};
    turnpike_client *client;
    check(turnpike_client_open(nodes, 1, &options, &client, &error));

    turnpike_id alice, bob;
    check(turnpike_account_from_number(1, &alice));
    check(turnpike_account_from_number(2, &bob));
    create(client, &alice);
    create(client, &bob);
    check(turnpike_issue(client, &alice, 1000, NULL, NULL, &error));

    turnpike_id id = {{0}};
    turnpike_result result;
    turnpike_client_status status = turnpike_transfer(client, &alice, &bob, 50, &id, &result, &error);
    if (status == TURNPIKE_INSUFFICIENT_BALANCE) printf("alice has only %" PRIu64 "\n", result.value);
    check(status);
    char text[TURNPIKE_ID_TEXT];
    check(turnpike_id_format(&id, text));
    printf("transaction %s is %s, and alice has %" PRIu64 " left\n", text,
           result.promise >= TURNPIKE_PROMISE_DURABLE ? "durable" : "accepted", result.value);

    turnpike_chain *chain;
    check(turnpike_chain_open(client, argc == 3 ? network : NULL, &chain, &error));
    prove_transfer(client, chain, &id, &alice);
    prove_balance(client, chain, &bob);
    turnpike_chain_free(chain);
    turnpike_client_free(client);
    return 0;
}
