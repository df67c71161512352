// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Memory that the node's writer thread changes at any time, and how to read it.
//
// In the kernel it is a BPF arena: any address in it is safe to access, and unmapped ones read as zero. In
// native tests, plain pointers address the same memory.
#ifndef TURNPIKE_MEMORY_H
#define TURNPIKE_MEMORY_H

#include <stdbool.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the tables are little-endian, as is every machine that this is made for"
#endif

#define INLINE static inline __attribute__((always_inline))

#ifdef __bpf__
#define SHARED __attribute__((address_space(1)))
// The tier runs on x86-64 only, which does not reorder loads with loads, nor stores with stores; the compiler
// must not either.
#define read_barrier() asm volatile("" ::: "memory")
#define write_barrier() asm volatile("" ::: "memory")
#else
#define SHARED
#define read_barrier() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define write_barrier() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

// Hook before each load: empty, except that tests let a writer run there.
#ifndef before_load
#define before_load()
#endif

// The start of the memory; everything in it is addressed by its offset from here.
typedef u8 SHARED *memory_t;

INLINE u64 load64(memory_t at)
{
	before_load();
	return *(const volatile u64 SHARED *)at;
}

INLINE u32 load32(memory_t at)
{
	before_load();
	return *(const volatile u32 SHARED *)at;
}

INLINE u16 load16(memory_t at)
{
	before_load();
	return *(const volatile u16 SHARED *)at;
}

INLINE u16 be16(u16 value)
{
	return __builtin_bswap16(value);
}

INLINE u32 be32(u32 value)
{
	return __builtin_bswap32(value);
}

INLINE u64 be64(u64 value)
{
	return __builtin_bswap64(value);
}

// Packets are not aligned, which x86-64 and the kernel's verifier there accept. If told, the BPF compiler would
// split every access into bytes; the native one must be told.
#ifdef __bpf__
#define ANY_ALIGNMENT may_alias
#else
#define ANY_ALIGNMENT may_alias, aligned(1)
#endif

typedef u16 __attribute__((ANY_ALIGNMENT)) packet_u16;
typedef u32 __attribute__((ANY_ALIGNMENT)) packet_u32;
typedef u64 __attribute__((ANY_ALIGNMENT)) packet_u64;

INLINE u16 get16(const u8 *at)
{
	return *(const packet_u16 *)at;
}

INLINE u32 get32(const u8 *at)
{
	return *(const packet_u32 *)at;
}

INLINE u64 get64(const u8 *at)
{
	return *(const packet_u64 *)at;
}

INLINE void put16(u8 *at, u16 value)
{
	*(packet_u16 *)at = value;
}

INLINE void put32(u8 *at, u32 value)
{
	*(packet_u32 *)at = value;
}

INLINE void put64(u8 *at, u64 value)
{
	*(packet_u64 *)at = value;
}

// Result of a lookup in shared memory.
enum found {
	ABSENT,
	FOUND,
	// The writer was busy for as long as a reader can wait here; the host has the answer.
	CONTENDED,
};

#endif
