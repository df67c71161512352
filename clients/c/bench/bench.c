/* Measures durable transfers per second in batches, and the latency of single ones: bench HOST:PORT [ROUNDS [BATCHES]]
 *
 * bench/run starts a node on loopback and runs it. Figures as those of the other clients' benchmarks: transfers of 1
 * between 10,000 accounts, in batches of 1,023, four in flight.
 */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "turnpike.h"

enum { ACCOUNTS = 10000, BATCH = 1023, IN_FLIGHT = 4, SINGLES = 2000, MOST_ROUNDS = 99 };

static turnpike_client *client;
static size_t batches = 1000;

static void check(turnpike_client_status status, const turnpike_error *error) {
    if (status == TURNPIKE_OK) return;
    fprintf(stderr, "error: %s: %s\n", turnpike_status_name(status), error->message);
    exit(1);
}

static turnpike_id account(size_t number) {
    turnpike_id id;
    turnpike_account_from_number(1 + number % ACCOUNTS, &id);
    return id;
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fund(void) {
    static turnpike_operation operations[2 * ACCOUNTS];
    static turnpike_result results[2 * ACCOUNTS];
    turnpike_error error;
    for (size_t at = 0; at < ACCOUNTS; at++) {
        turnpike_id id = account(at);
        turnpike_operation_create(&operations[2 * at], &id);
        turnpike_operation_issue(&operations[2 * at + 1], &id, UINT64_C(1) << 40);
    }
    check(turnpike_submit(client, operations, 2 * ACCOUNTS, TURNPIKE_PROMISE_DURABLE, 0, results, &error), &error);
}

/* Executes every fourth batch of a round. */
static void *work(void *argument) {
    turnpike_operation *operations = calloc(BATCH, sizeof *operations);
    turnpike_result *results = calloc(BATCH, sizeof *results);
    turnpike_error error;
    if (!operations || !results) exit(1);
    for (size_t number = *(const size_t *)argument; number < batches; number += IN_FLIGHT) {
        for (size_t at = 0; at < BATCH; at++) {
            size_t from = number * BATCH + at, to = from * 7 + 1;
            /* No transfer is from an account to itself. */
            if (to % ACCOUNTS == from % ACCOUNTS) to++;
            turnpike_id source = account(from), destination = account(to);
            turnpike_operation_transfer(&operations[at], &source, &destination, 1);
        }
        check(turnpike_submit(client, operations, BATCH, TURNPIKE_PROMISE_DURABLE, 0, results, &error), &error);
    }
    free(operations);
    free(results);
    return NULL;
}

static void round_of_batches(void) {
    pthread_t threads[IN_FLIGHT];
    size_t numbers[IN_FLIGHT];
    for (size_t at = 0; at < IN_FLIGHT; at++) {
        numbers[at] = at;
        if (pthread_create(&threads[at], NULL, work, &numbers[at])) exit(1);
    }
    for (size_t at = 0; at < IN_FLIGHT; at++) pthread_join(threads[at], NULL);
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 5;
    if (argc > 3) batches = strtoul(argv[3], NULL, 10);
    if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS || batches < 1) {
        fprintf(stderr, "usage: bench HOST:PORT [ROUNDS [BATCHES]]\n");
        return 2;
    }
    turnpike_error error;
    turnpike_options options = {.size = sizeof options, .connections = IN_FLIGHT};
    const char *nodes[] = {argv[1]};
    check(turnpike_client_open(nodes, 1, &options, &client, &error), &error);
    fund();

    double rates[MOST_ROUNDS], costs[MOST_ROUNDS], transfers = (double)(batches * BATCH);
    for (size_t at = 0; at < rounds; at++) {
        double processor = seconds(CLOCK_PROCESS_CPUTIME_ID), began = seconds(CLOCK_MONOTONIC);
        round_of_batches();
        rates[at] = transfers / (seconds(CLOCK_MONOTONIC) - began);
        costs[at] = 1e9 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - processor) / transfers;
    }
    qsort(rates, rounds, sizeof *rates, compare);
    qsort(costs, rounds, sizeof *costs, compare);
    printf("durable transfers in batches of %d, %d in flight, median of %zu rounds: %.0f/s (%.0f to %.0f)\n", BATCH,
           IN_FLIGHT, rounds, rates[rounds / 2], rates[0], rates[rounds - 1]);
    printf("processor time of the client: %.0f ns per transfer\n", costs[rounds / 2]);

    static double latencies[SINGLES];
    for (size_t at = 0; at < SINGLES; at++) {
        turnpike_id source = account(at), destination = account(at + 1);
        double began = seconds(CLOCK_MONOTONIC);
        check(turnpike_transfer(client, &source, &destination, 1, NULL, NULL, &error), &error);
        latencies[at] = 1e6 * (seconds(CLOCK_MONOTONIC) - began);
    }
    qsort(latencies, SINGLES, sizeof *latencies, compare);
    printf("durable transfers one by one: p50 %.0f us, p99 %.0f us\n", latencies[SINGLES / 2],
           latencies[SINGLES * 99 / 100]);
    turnpike_client_free(client);
    return 0;
}
