// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The XDP program: answers what it can from the node's own tables, in place, and passes everything else on.
#include <linux/bpf.h>

#include "answer.h"

#define SEC(name) __attribute__((section(name), used))

// Maps, created and named by the loader (crates/xdp/src/program.rs).
SEC(".maps") struct { int unused; } counters, sockets;

// The arena; the loader fills in its address.
struct state SHARED arena;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)BPF_FUNC_redirect_map;
static u64 (*const bpf_xdp_get_buff_len)(struct xdp_md *context) = (void *)BPF_FUNC_xdp_get_buff_len;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *context, int delta) = (void *)BPF_FUNC_xdp_adjust_tail;

INLINE void count(enum counter counter)
{
	u32 key = counter;
	u64 *number = bpf_map_lookup_elem(&counters, &key);

	if (number)
		*number += 1;
}

// Passes an unanswered frame to the node's socket for this queue, which bypasses the host's network stack, or
// else to that stack. Frames in several fragments, or longer than the socket's, go to the stack.
INLINE int leave(struct xdp_md *context, const struct packet *packet, memory_t state)
{
	u64 length = bpf_xdp_get_buff_len(context);

	if (!(load64(state + STATE(flags)) & STATE_REDIRECT) || length > SOCKET_BYTES ||
	    length != (u64)(packet->end - packet->start))
		return XDP_PASS;
	return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);
}

INLINE int serve(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;
	struct packet packet = { .start = (u8 *)(long)context->data, .end = (u8 *)(long)context->data_end };

	u64 hash;
	u32 length;

	if (!is_for_node(&packet, state, &hash))
		return XDP_PASS;
	enum counter counter = answer(&packet, state, hash, &length);

	count(counter);
	if (!is_answered(counter))
		return leave(context, &packet, state);
	// The reply is shorter than the request; there may also be Ethernet padding after it.
	if (length != packet.length) {
		if (bpf_xdp_adjust_tail(context, (int)length - (int)packet.length)) {
			count(COUNT_LOST);
			return XDP_DROP;
		}
	}
	return XDP_TX;
}

SEC("xdp") int turnpike(struct xdp_md *context)
{
	return serve(context);
}

SEC("license") char _license[] = "Dual MIT/GPL";
