// Makes the reply of a packet: addresses and ports swapped, amount and status replaced, checksums brought up to date from what changes
// (RFC 1624, equation 3). Latency 2 cycles, a packet a cycle; nothing stops.

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
  // The packet comes out of a queue's memory and has the first cycle for that; the sum of what is new is made meanwhile.
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
    // No checksum stays none; one that comes out as zero is written the other way (RFC 768).
    reply_o.udp.checksum = none_q ? '0 : udp == '0 ? '1 : udp;
  end
endmodule
