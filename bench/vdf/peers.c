// Nanoseconds of CPU time of one squaring in a chain, modulo numbers of 1,024 and 2,048 bits: OpenSSL's Montgomery
// multiplication and GMP's powm with a power of two as the exponent. Prints lines `PEER BITS NANOSECONDS`.
#include <gmp.h>
#include <openssl/bn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SQUARINGS = 100000, ROUNDS = 5 };

static double cpu_time(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
        abort();
    }
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[ROUNDS]) {
    qsort(values, ROUNDS, sizeof *values, ascending);
    return values[ROUNDS / 2];
}

static void check(int is_right) {
    if (!is_right) {
        fputs("a peer's arithmetic failed\n", stderr);
        exit(1);
    }
}

static double openssl_squaring(int bits) {
    BN_CTX *context = BN_CTX_new();
    BN_MONT_CTX *montgomery = BN_MONT_CTX_new();
    BIGNUM *modulus = BN_new(), *number = BN_new();
    check(context && montgomery && modulus && number);
    check(BN_rand(modulus, bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD));
    check(BN_rand_range(number, modulus));
    check(BN_MONT_CTX_set(montgomery, modulus, context));
    double rounds[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        const double start = cpu_time();
        for (int i = 0; i < SQUARINGS; i++) {
            check(BN_mod_mul_montgomery(number, number, number, montgomery, context));
        }
        rounds[round] = (cpu_time() - start) / SQUARINGS;
    }
    BN_free(modulus);
    BN_free(number);
    BN_MONT_CTX_free(montgomery);
    BN_CTX_free(context);
    return median(rounds);
}

static double gmp_squaring(int bits) {
    gmp_randstate_t random;
    mpz_t modulus, number, exponent;
    gmp_randinit_default(random);
    mpz_inits(modulus, number, exponent, NULL);
    mpz_urandomb(modulus, random, (mp_bitcnt_t)bits);
    mpz_setbit(modulus, (mp_bitcnt_t)bits - 1);
    mpz_setbit(modulus, 0);
    mpz_urandomb(number, random, (mp_bitcnt_t)bits - 1);
    mpz_setbit(exponent, SQUARINGS);
    double rounds[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        const double start = cpu_time();
        mpz_powm(number, number, exponent, modulus);
        rounds[round] = (cpu_time() - start) / SQUARINGS;
    }
    mpz_clears(modulus, number, exponent, NULL);
    gmp_randclear(random);
    return median(rounds);
}

int main(void) {
    for (int bits = 1024; bits <= 2048; bits *= 2) {
        printf("OpenSSL %d %.1f\n", bits, openssl_squaring(bits));
        printf("GMP %d %.1f\n", bits, gmp_squaring(bits));
    }
    return 0;
}
