// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The XDP program of the key-value store: answers gets in place, and passes everything else on.
#include <linux/bpf.h>

#include "kv.h"

#define SEC(name) __attribute__((section(name), used))

// Maps, created and named by the loader (crates/xdp/src/kv.rs).
SEC(".maps") struct { int unused; } counters, work;

// The arena; the loader fills in its address.
struct state SHARED arena;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *context, int delta) = (void *)BPF_FUNC_xdp_adjust_tail;
static long (*const bpf_xdp_adjust_head)(struct xdp_md *context, int delta) = (void *)BPF_FUNC_xdp_adjust_head;
static long (*const bpf_xdp_load_bytes)(struct xdp_md *context, u32 at, void *to, u32 length) =
	(void *)BPF_FUNC_xdp_load_bytes;
static long (*const bpf_xdp_store_bytes)(struct xdp_md *context, u32 at, void *from, u32 length) =
	(void *)BPF_FUNC_xdp_store_bytes;

INLINE void count(enum kv_counter counter)
{
	u32 key = counter;
	u64 *number = bpf_map_lookup_elem(&counters, &key);

	if (number)
		*number += 1;
}

INLINE bool find_packet(struct xdp_md *context, struct packet *packet, memory_t state)
{
	packet->start = (u8 *)(long)context->data;
	packet->end = (u8 *)(long)context->data_end;
	return parse(packet, state);
}

// Copies the request to memory that the program can index.
INLINE bool load(struct xdp_md *context, memory_t state, const struct packet *packet, struct kv_work *work)
{
	u32 length = widen(state, packet->length, 1024);

	if (length < KV_SHORTEST || length > KV_LONGEST)
		return false;
	// Clears the last word, and the bytes before the request.
	work->request[0] = 0;
	work->request[(KV_REQUEST_AT + length) / 8] = 0;
	return !bpf_xdp_load_bytes(context, packet->payload - packet->start, kv_bytes(work->request) + KV_REQUEST_AT, length);
}

// Lengthens a frame at its end or, if the driver left no room there, before its start, which moves the headers.
// If neither is possible, the frame is unchanged.
INLINE bool make_room(struct xdp_md *context, memory_t state, const struct packet *packet, struct kv_work *work, int more)
{
	u32 headers = widen(state, packet->payload - packet->start, KV_HEADERS_BYTES);

	if (!bpf_xdp_adjust_tail(context, more))
		return true;
	return headers && !bpf_xdp_load_bytes(context, 0, work->headers, headers) && !bpf_xdp_adjust_head(context, -more) &&
	       !bpf_xdp_store_bytes(context, 0, work->headers, headers);
}

// Overwrites the request with the reply, making room for it.
INLINE bool store(struct xdp_md *context, memory_t state, const struct packet *packet, struct kv_work *work,
		  const struct kv_reply *reply)
{
	u32 length = widen(state, reply->length, 512);

	return length && length <= KV_REPLY_BYTES + 8 * MIRROR_TEXT_WORDS &&
	       !bpf_xdp_store_bytes(context, packet->payload - packet->start, kv_bytes(work->reply) + KV_REPLY_AT, length);
}

INLINE int serve(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;
	struct packet packet;
	struct kv_reply reply;
	u32 key = 0;
	struct kv_work *memory = bpf_map_lookup_elem(&work, &key);

	if (!memory || !find_packet(context, &packet, state) || !is_addressed(&packet, state))
		return XDP_PASS;
	enum kv_counter counter = KV_HOST;

	if (kv_is_request(&packet) && load(context, state, &packet, memory))
		counter = kv_answer(&packet, state, memory, &reply);
	if (counter == KV_HIT && reply.item.expires != KV_NEVER && kv_is_over(&reply, bpf_ktime_get_ns()))
		counter = KV_MISS;
	int more = counter == KV_HIT ? (int)reply.length - (int)packet.length : 0;

	if (more > 0 && (!make_room(context, state, &packet, memory, more) || !find_packet(context, &packet, state)))
		counter = KV_ROOM;
	// The frame has not been modified so far.
	if (counter == KV_HIT && !store(context, state, &packet, memory, &reply))
		counter = KV_ROOM;
	count(counter);
	if (counter != KV_HIT)
		return XDP_PASS;
	if (!find_packet(context, &packet, state))
		return XDP_DROP;
	turn_around(&packet, reply.length, reply.sum);
	mirror_mark(&reply.item);
	if (more < 0 && bpf_xdp_adjust_tail(context, more)) {
		count(KV_LOST);
		return XDP_DROP;
	}
	return XDP_TX;
}

SEC("xdp") int turnpike_kv(struct xdp_md *context)
{
	return serve(context);
}

SEC("license") char _license[] = "Dual MIT/GPL";
