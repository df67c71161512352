// Checksums of IPv4 and UDP over packets of any length: 64 bytes per cycle, no stalls, latency 3 cycles.
//
// Packets must have an IPv4 header without options, directly followed by UDP; for others the result is undefined. The
// last word yields the UDP sum with its pseudo header: all ones if the packet's checksum is right, or the complement of
// the checksum if that field is zero (RFC 1071).

`include "assertions.svh"
`include "registers.svh"

module udp_check
  import wire_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,
    input  logic [511:0] data_i,
    input  logic [ 63:0] keep_i,
    input  logic         last_i,
    // 3 cycles later.
    output logic [ 15:0] udp_sum_o,
    output logic         header_right_o,
    output logic         udp_none_o       // the sender omitted the UDP checksum
);
  localparam int unsigned Lanes = 32;
  // Lanes per sum in the first cycle: fewer than sums in the second, as the first cycle also masks them.
  localparam int unsigned Together = 4;
  localparam int unsigned Parts = Lanes / Together;
  // Positions of 16-bit lanes in the first word.
  localparam int unsigned HeaderLane = 7;
  localparam int unsigned AddressLane = 13;
  localparam int unsigned LengthLane = 19;
  localparam int unsigned ChecksumLane = 20;

  logic first_q;
  `FFE(first_q, last_i, valid_i, 1'b1)

  logic [Lanes-1:0][15:0] lane, term;
  logic [Parts-1:0][17:0] part, part_q;
  logic [1:0][18:0] header_part, header_part_q;
  logic [20:0] sum, sum_q;
  logic [19:0] header_q;
  logic valid_q, valid_qq, first_qq, first_qqq, none_q, none_qq;

  for (genvar at = 0; at < Lanes; at++) begin : gen_lane
    assign lane[at] = {data_i[16*at+:8] & {8{keep_i[2*at]}}, data_i[16*at+8+:8] & {8{keep_i[2*at+1]}}};
  end

  // The pseudo header's protocol and length replace what precedes the addresses.
  always_comb begin
    term = lane;
    if (first_q) begin
      for (int at = 0; at < AddressLane; at++) term[at] = '0;
      term[0] = 16'(ProtocolUdp);
      term[1] = lane[LengthLane];
    end
    part = '0;
    header_part = '0;
    for (int at = 0; at < Lanes; at++) part[at/Together] += 18'(term[at]);
    for (int at = 0; at < 10; at++) header_part[at/5] += 19'(lane[HeaderLane+at]);
  end
  `FFN(part_q, part)
  `FFN(header_part_q, header_part)
  `FFN(none_q, lane[ChecksumLane] == '0)
  `FF(valid_q, valid_i, 1'b0)
  `FFN(first_qq, first_q)

  always_comb begin
    sum = '0;
    for (int at = 0; at < Parts; at++) sum += 21'(part_q[at]);
  end
  `FFN(sum_q, sum)
  `FFN(header_q, 20'(header_part_q[0]) + 20'(header_part_q[1]))
  `FFN(none_qq, none_q)
  `FF(valid_qq, valid_q, 1'b0)
  `FFN(first_qqq, first_qq)

  `FFNE(udp_sum_o, add_three(first_qqq ? '0 : udp_sum_o, sum_q[15:0], 16'(sum_q[20:16])), valid_qq)
  `FFNE(header_right_o, add(header_q[15:0], 16'(header_q[19:16])) == '1, valid_qq && first_qqq)
  `FFNE(udp_none_o, none_qq, valid_qq && first_qqq)

  `ASSUME(first_word_is_whole, !valid_i || !first_q || last_i || keep_i == '1)
endmodule
