// Makes the reply of a packet: addresses and ports swapped, amount and status replaced, checksums brought up to date from what changes
// (RFC 1624, equation 3). Latency 3 cycles, moves only with `move_i`.

`include "registers.svh"

module reply_builder
  import wire_pkg::*;
(
    input  logic           clk_i,
    input  logic           move_i,
    input  packet_t        request_i,
    input  logic    [31:0] value_i,
    input  logic    [15:0] status_i,
    output packet_t        reply_o
);
  packet_t swapped, swapped_q, swapped_qq, reply_q;
  logic [15:0] removed, removed_q, added, added_q, header, header_q, header_qq, change, change_q, udp;
  logic none_q, none_qq;

  always_comb begin
    swapped = swap_addresses(request_i);
    swapped.compact.amount = value_i;
    swapped.compact.status = status_i;

    // Swapping does not change a sum.
    removed = add(add(~request_i.compact.amount[31:16], ~request_i.compact.amount[15:0]), ~request_i.compact.status);
    added = add(add(value_i[31:16], value_i[15:0]), status_i);
    header = reply_checksum(request_i.ipv4);
    change = add(removed_q, added_q);
    udp = ~add(~swapped_qq.udp.checksum, change_q);
  end

  `FFNE(swapped_q, swapped, move_i)
  `FFNE(removed_q, removed, move_i)
  `FFNE(added_q, added, move_i)
  `FFNE(header_q, header, move_i)
  `FFNE(none_q, request_i.udp.checksum == '0, move_i)
  `FFNE(swapped_qq, swapped_q, move_i)
  `FFNE(change_q, change, move_i)
  `FFNE(header_qq, header_q, move_i)
  `FFNE(none_qq, none_q, move_i)

  packet_t reply;
  always_comb begin
    reply = swapped_qq;
    reply.ipv4.checksum = header_qq;
    // No checksum stays none; one that comes out as zero is written the other way (RFC 768).
    reply.udp.checksum = none_qq ? '0 : udp == '0 ? '1 : udp;
  end
  `FFNE(reply_q, reply, move_i)
  assign reply_o = reply_q;
endmodule
