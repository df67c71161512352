/* Shifts CLOCK_REALTIME of one process by the seconds in the file $SHIFT_FILE, read again every 100 ms, as a step of the
   system's clock does. Monotonic clocks stay as they are. Built by tests with `cc -shared -fPIC`, loaded by LD_PRELOAD. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void)
{
    static __thread long seconds, read_at;
    struct timespec monotonic;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &monotonic);
    long now = monotonic.tv_sec * 10 + monotonic.tv_nsec / 100000000;
    if (now != read_at) {
        read_at = now;
        const char *name = getenv("SHIFT_FILE");
        FILE *file = name ? fopen(name, "r") : NULL;
        if (file) {
            long read;
            /* A file that is being written is empty for a moment: the shift stays. */
            if (fscanf(file, "%ld", &read) == 1)
                seconds = read;
            fclose(file);
        }
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = syscall(SYS_clock_gettime, clock, time);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *time, void *zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
