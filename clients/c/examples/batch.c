/* Executes many transfers in batches, and repeats them: batch HOST:PORT [COUNT]
 *
 * Repeating a batch with the same transaction ids executes nothing twice. Exit status 0 if every transfer was executed
 * once.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turnpike.h"

enum { ACCOUNTS = 100 };

static turnpike_error error;

static void check(turnpike_client_status status) {
    if (status == TURNPIKE_OK) return;
    fprintf(stderr, "error: %s: %s\n", turnpike_status_name(status), error.message);
    exit(1);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) exit(1);
    return memory;
}

/* Opens accounts that no other run has: their ids are new transaction ids, whose top bit is 0 until the year 6429. */
static void open_accounts(turnpike_client *client, turnpike_id *accounts, uint64_t amount) {
    turnpike_operation operations[2 * ACCOUNTS];
    turnpike_result results[2 * ACCOUNTS];
    for (size_t at = 0; at < ACCOUNTS; at++) {
        check(turnpike_transaction_new(&accounts[at], &error));
        check(turnpike_operation_create(&operations[2 * at], &accounts[at]));
        check(turnpike_operation_issue(&operations[2 * at + 1], &accounts[at], amount));
    }
    check(turnpike_submit(client, operations, 2 * ACCOUNTS, TURNPIKE_PROMISE_DEFAULT, 0, results, &error));
}

/* The sum of all balances. */
static uint64_t total(turnpike_client *client, const turnpike_id *accounts) {
    uint64_t sum = 0, balance;
    for (size_t at = 0; at < ACCOUNTS; at++) {
        check(turnpike_refer(client, &accounts[at], &balance, &error));
        sum += balance;
    }
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: batch HOST:PORT [COUNT]\n");
        return 2;
    }
    size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 5000;
    const char *nodes[] = {argv[1]};
    turnpike_client *client;
    check(turnpike_client_open(nodes, 1, NULL, &client, &error));

    turnpike_id accounts[ACCOUNTS];
    open_accounts(client, accounts, count);
    turnpike_operation *transfers = allocate(count + 1, sizeof *transfers);
    turnpike_result *first = allocate(count + 1, sizeof *first), *again = allocate(count + 1, sizeof *again);
    for (size_t at = 0; at < count; at++) {
        const turnpike_id *source = &accounts[at % ACCOUNTS], *destination = &accounts[(at + 1) % ACCOUNTS];
        check(turnpike_operation_transfer(&transfers[at], source, destination, 1));
    }
    check(turnpike_submit(client, transfers, count, TURNPIKE_PROMISE_DURABLE, TURNPIKE_SUBMIT_ANY_ORDER, first,
                          &error));
    /* The array has the ids now. */
    check(turnpike_submit(client, transfers, count, TURNPIKE_PROMISE_DURABLE, TURNPIKE_SUBMIT_ANY_ORDER, again,
                          &error));
    bool is_same = count == 0 || memcmp(first, again, count * sizeof *first) == 0;
    uint64_t expected = (uint64_t)ACCOUNTS * count, sum = total(client, accounts);
    printf("%zu transfers, %s; the balances are %" PRIu64 " in all\n", count,
           is_same ? "the same results when repeated" : "OTHER RESULTS when repeated", sum);

    /* A batch is not atomic: each operation has its own result. */
    turnpike_operation last[2];
    turnpike_result results[2];
    check(turnpike_operation_transfer(&last[0], &accounts[0], &accounts[1], UINT64_MAX));
    check(turnpike_operation_transfer(&last[1], &accounts[1], &accounts[2], 0));
    turnpike_client_status status = turnpike_submit(client, last, 2, TURNPIKE_PROMISE_DEFAULT, 0, results, &error);
    for (size_t at = 0; at < 2; at++) {
        printf("%s: %s; %s\n", turnpike_status_name(results[at].status), turnpike_status_text(results[at].status),
               turnpike_status_advice(results[at].status));
    }
    free(transfers);
    free(first);
    free(again);
    turnpike_client_free(client);
    return is_same && sum == expected && status == TURNPIKE_SOME_NOT_EXECUTED ? 0 : 1;
}
