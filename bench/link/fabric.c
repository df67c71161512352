// libfabric's tcp provider as bench/link/run drives it: two processes, a connected endpoint each (FI_EP_MSG), completions polled.
//
// usage: fabric serve            prints its port, and answers one peer until it goes
//        fabric connect PORT     `trip BYTES COUNT` on standard input measures so many round trips and prints their median in
//                                microseconds; `rate BYTES COUNT` so many messages in one direction and prints the seconds
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// As many buffers as a channel has.
enum { LONGEST = 100 << 10, BUFFERS = 64, COMPLETIONS = 32 };

// Looks after which a side that waits sleeps between them, some milliseconds, and round trips that wake the other side.
enum { IDLE = 1 << 14, WARM_UP = 3 };

// The first byte of a message says what becomes of it. One to be copied that has no other byte is answered, too.
enum { COPY = 0, ECHO = 1 };

struct side {
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *events;
    struct fid_cq *sent, *received;
    struct fid_ep *endpoint;
    char *to, *from;
    // Sends that are under way, and the number of the next one, whose buffer is free when the one of 64 before is done.
    size_t under_way, next;
    // Completions of receives that were polled and not taken yet, in their order.
    struct fi_cq_msg_entry polled[COMPLETIONS];
    ssize_t polled_count, taken;
};

static void check(ssize_t code, const char *what) {
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-code));
        exit(1);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct fi_info *find(const char *port, uint64_t flags) {
    struct fi_info *hints = fi_allocinfo(), *found = NULL;
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG;
    hints->tx_attr->size = hints->rx_attr->size = BUFFERS;
    hints->fabric_attr->prov_name = strdup("tcp");
    hints->addr_format = FI_SOCKADDR_IN;
    check(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", port, flags, hints, &found), "find the tcp provider");
    fi_freeinfo(hints);
    return found;
}

static void event(struct side *side, uint32_t wanted, struct fi_eq_cm_entry *entry) {
    uint32_t got = 0;
    check(fi_eq_sread(side->events, &got, entry, sizeof *entry, -1, 0), "wait for an event");
    if (got != wanted) {
        exit(got == FI_SHUTDOWN ? 0 : 1);
    }
}

static void post_receive(struct side *side, size_t at) {
    check(fi_recv(side->endpoint, side->from + at * LONGEST, LONGEST, NULL, 0, (void *)at), "post a receive");
}

static void open_endpoint(struct side *side, struct fi_info *info) {
    struct fi_cq_attr queue = {.size = 2 * BUFFERS, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
    check(fi_domain(side->fabric, info, &side->domain, NULL), "open a domain");
    check(fi_cq_open(side->domain, &queue, &side->sent, NULL), "make a queue");
    check(fi_cq_open(side->domain, &queue, &side->received, NULL), "make a queue");
    check(fi_endpoint(side->domain, info, &side->endpoint, NULL), "make an endpoint");
    check(fi_ep_bind(side->endpoint, &side->events->fid, 0), "bind the events");
    check(fi_ep_bind(side->endpoint, &side->sent->fid, FI_TRANSMIT), "bind a queue");
    check(fi_ep_bind(side->endpoint, &side->received->fid, FI_RECV), "bind a queue");
    check(fi_enable(side->endpoint), "enable an endpoint");
    side->to = calloc(BUFFERS, LONGEST);
    side->from = calloc(BUFFERS, LONGEST);
    for (size_t at = 0; at < BUFFERS; at++) {
        post_receive(side, at);
    }
}

static void pause_a_little(unsigned round) {
    if (round >= IDLE) {
        // Others have their turn: this costs nobody anything.
        const struct timespec time = {.tv_nsec = 1000000};
        nanosleep(&time, NULL);
    } else if (round % 64 == 63) {
        // The other side may have no other processor.
        sched_yield();
    }
}

// Ends where the peer has gone.
static ssize_t polled(ssize_t count) {
    if (count == -FI_EAGAIN) {
        return 0;
    }
    if (count < 0) {
        exit(0);
    }
    return count;
}

static void wait_for_sends(struct side *side, size_t most) {
    struct fi_cq_msg_entry done[COMPLETIONS];
    for (unsigned round = 0; side->under_way > most; round++) {
        side->under_way -= (size_t)polled(fi_cq_read(side->sent, done, COMPLETIONS));
        if (side->under_way > most) {
            // A provider may move on by either queue alone.
            pause_a_little(round);
        }
    }
}

// The buffer of the next message.
static char *buffer(struct side *side) {
    wait_for_sends(side, BUFFERS - 1);
    return side->to + side->next % BUFFERS * LONGEST;
}

static void send_next(struct side *side, size_t length) {
    char *message = side->to + side->next % BUFFERS * LONGEST;
    ssize_t code;
    for (unsigned round = 0; (code = fi_send(side->endpoint, message, length, NULL, 0, NULL)) == -FI_EAGAIN; round++) {
        wait_for_sends(side, side->under_way > 0 ? side->under_way - 1 : 0);
        pause_a_little(round);
    }
    check(code, "send");
    side->next++;
    side->under_way++;
}

// The next message and its length; `done` posts its buffer again.
static char *receive(struct side *side, size_t *length, size_t *at) {
    for (unsigned round = 0; side->taken == side->polled_count; round++) {
        side->polled_count = polled(fi_cq_read(side->received, side->polled, COMPLETIONS));
        side->taken = 0;
        if (side->polled_count == 0) {
            pause_a_little(round);
        }
    }
    const struct fi_cq_msg_entry *entry = &side->polled[side->taken++];
    *at = (size_t)entry->op_context;
    *length = entry->len;
    return side->from + *at * LONGEST;
}

static void serve(struct side *side) {
    struct fi_info *info = find("0", FI_SOURCE);
    struct fi_eq_attr events = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_cm_entry entry;
    struct fid_pep *listener;
    struct sockaddr_in address;
    size_t bytes = sizeof address;
    check(fi_fabric(info->fabric_attr, &side->fabric, NULL), "open a fabric");
    check(fi_eq_open(side->fabric, &events, &side->events, NULL), "make a queue of events");
    check(fi_passive_ep(side->fabric, info, &listener, NULL), "make a listener");
    check(fi_pep_bind(listener, &side->events->fid, 0), "bind the events");
    check(fi_listen(listener), "listen");
    check(fi_getname(&listener->fid, &address, &bytes), "learn the port");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    event(side, FI_CONNREQ, &entry);
    open_endpoint(side, entry.info);
    check(fi_accept(side->endpoint, NULL, 0), "accept");
    event(side, FI_CONNECTED, &entry);
    char *copy = malloc(LONGEST);
    for (;;) {
        size_t length, at;
        const char *message = receive(side, &length, &at);
        if (message[0] == ECHO || length == 1) {
            memcpy(buffer(side), message, length);
            send_next(side, length);
        } else {
            memcpy(copy, message, length);
        }
        post_receive(side, at);
    }
}

static double round_trip(struct side *side, size_t bytes) {
    size_t length, at;
    const double begun = now();
    char *message = buffer(side);
    message[0] = message[bytes - 1] = ECHO;
    send_next(side, bytes);
    const char *answer = receive(side, &length, &at);
    const double time = (now() - begun) * 1e6;
    if (length != bytes || answer[0] != ECHO || answer[bytes - 1] != ECHO) {
        exit(1);
    }
    post_receive(side, at);
    return time;
}

static double rate(struct side *side, size_t bytes, size_t count) {
    static char message[LONGEST];
    size_t length, at;
    const double begun = now();
    for (size_t number = 0; number < count; number++) {
        memcpy(buffer(side), message, bytes);
        send_next(side, bytes);
    }
    buffer(side)[0] = COPY;
    send_next(side, 1);
    wait_for_sends(side, 0);
    receive(side, &length, &at);
    post_receive(side, at);
    return now() - begun;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void connect_to(struct side *side, const char *port) {
    struct fi_info *info = find(port, 0);
    struct fi_eq_attr events = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_cm_entry entry;
    check(fi_fabric(info->fabric_attr, &side->fabric, NULL), "open a fabric");
    check(fi_eq_open(side->fabric, &events, &side->events, NULL), "make a queue of events");
    open_endpoint(side, info);
    check(fi_connect(side->endpoint, info->dest_addr, NULL, 0), "connect");
    event(side, FI_CONNECTED, &entry);
    char what[8];
    size_t bytes, count;
    while (scanf("%7s %zu %zu", what, &bytes, &count) == 3) {
        if (bytes == 0 || bytes > LONGEST || count == 0) {
            exit(2);
        }
        for (int number = 0; number < WARM_UP; number++) {
            round_trip(side, bytes);
        }
        if (strcmp(what, "rate") == 0) {
            printf("%.9f\n", rate(side, bytes, count));
        } else {
            double *times = malloc(count * sizeof *times);
            for (size_t number = 0; number < count; number++) {
                times[number] = round_trip(side, bytes);
            }
            qsort(times, count, sizeof *times, ascending);
            printf("%.3f\n", times[count / 2]);
            free(times);
        }
        fflush(stdout);
    }
}

int main(int count, char **arguments) {
    static struct side side;
    if (count == 2 && strcmp(arguments[1], "serve") == 0) {
        serve(&side);
    } else if (count == 3 && strcmp(arguments[1], "connect") == 0) {
        connect_to(&side, arguments[2]);
    } else {
        fputs("usage: fabric serve | connect PORT\n", stderr);
        return 2;
    }
}
