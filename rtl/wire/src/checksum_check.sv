// Whether the checksums of a packet of 64 bytes are right: that of the IPv4 header, and that of UDP or none. Latency 3 cycles, moves only
// with `move_i`.

`include "registers.svh"

module checksum_check
  import wire_pkg::*;
(
    input  logic    clk_i,
    input  logic    move_i,
    input  packet_t packet_i,
    output logic    right_o
);
  // 10 words of the header; 4 of the addresses, the protocol, the length, 15 of UDP: each sum has at most 8 words.
  logic [2:0][18:0] part, part_q;
  logic [1:0][18:0] header_part, header_part_q;
  logic [20:0] sum, sum_q;
  logic [19:0] header, header_q;
  logic none_q, none_qq, right, right_q;

  logic [159:0] ipv4;
  logic [335:0] udp;
  assign ipv4 = packet_i.ipv4;
  logic [95:0] pseudo_header;
  assign pseudo_header = {
    packet_i.ipv4.source, packet_i.ipv4.destination, 8'b0, ProtocolUdp, packet_i.udp.length
  };
  assign udp = {pseudo_header, packet_i.udp, packet_i.compact};

  always_comb begin
    part = '0;
    header_part = '0;
    for (int at = 0; at < 21; at++) part[at/7] += 19'(udp[16*at+:16]);
    for (int at = 0; at < 10; at++) header_part[at/5] += 19'(ipv4[16*at+:16]);
    sum = 21'(part_q[0]) + 21'(part_q[1]) + 21'(part_q[2]);
    header = 20'(header_part_q[0]) + 20'(header_part_q[1]);
    // A right sum is all ones, or zero where nothing but zeros were added, which no packet is.
    right = add(sum_q[15:0], 16'(sum_q[20:16])) == '1 || none_qq;
    right &= add(header_q[15:0], 16'(header_q[19:16])) == '1;
  end

  `FFNE(part_q, part, move_i)
  `FFNE(header_part_q, header_part, move_i)
  `FFNE(none_q, packet_i.udp.checksum == '0, move_i)
  `FFNE(sum_q, sum, move_i)
  `FFNE(header_q, header, move_i)
  `FFNE(none_qq, none_q, move_i)
  `FFNE(right_q, right, move_i)
  assign right_o = right_q;
endmodule
