// Turns a packet into its reply: swaps addresses and ports, replaces amount and status, and updates the checksums
// incrementally (RFC 1624, equation 3). Latency 2 cycles, one packet per cycle, no stalls.

`include "registers.svh"

module reply_builder
  import wire_pkg::*;
(
    input  logic           clk_i,
    input  packet_t        request_i,
    input  logic    [31:0] value_i,
    input  logic    [15:0] status_i,
    // 2 cycles later.
    output packet_t        reply_o
);
  // The packet comes from a queue's memory, so its first cycle is a register; meanwhile the sum of the new fields is
  // computed.
  packet_t request_q, swapped, swapped_q;
  logic [31:0] value_q;
  logic [15:0] status_q, added_q, kept_q, removed_q, udp;
  logic none_q;
  `FFN(request_q, request_i)
  `FFN(value_q, value_i)
  `FFN(status_q, status_i)
  `FFN(added_q, add_three(value_i[31:16], value_i[15:0], status_i))

  always_comb begin
    swapped = swap_addresses(request_q);
    swapped.compact.amount = value_q;
    swapped.compact.status = status_q;
    swapped.ipv4.checksum = reply_checksum(request_q.ipv4);
  end
  `FFN(swapped_q, swapped)
  // Swapping does not change a sum.
  `FFN(kept_q, add(~request_q.udp.checksum, added_q))
  `FFN(removed_q, add_three(
       ~request_q.compact.amount[31:16], ~request_q.compact.amount[15:0], ~request_q.compact.status))
  `FFN(none_q, request_q.udp.checksum == '0)

  assign udp = ~add(kept_q, removed_q);
  always_comb begin
    reply_o = swapped_q;
    // A packet without a checksum stays without; a computed checksum of zero is sent as all ones (RFC 768).
    reply_o.udp.checksum = none_q ? '0 : udp == '0 ? '1 : udp;
  end
endmodule
