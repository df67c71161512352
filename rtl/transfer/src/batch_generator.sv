// Fourth stage for batch frames of compact entries: writes results into the waiting words and turns the headers into
// those of a reply. checksum_writer fills in the UDP checksum, which is zero here. Accepts one result per cycle.
//
// Amount and status of entry k are 6 bytes that never cross a multiple of 8: bytes 2 to 7 of lane 9 + 3k of the packet.

`include "assertions.svh"
`include "registers.svh"

module batch_generator
  import frame_pkg::*;
  import wire_pkg::*;
  import transfer_pkg::*;
#(
    parameter int unsigned PortWidth = 3
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    // Promise reported in replies.
    input  logic    [          7:0] promise_i,
    input  logic                    word_valid_i,
    output logic                    word_ready_o,
    input  word_t                   word_i,
    input  logic    [PortWidth-1:0] port_i,
    input  logic                    result_valid_i,
    output logic                    result_ready_o,
    input  status_e                 status_i,
    input  logic    [         31:0] value_i,
    output logic                    valid_o,
    input  logic                    ready_i,
    output word_t                   word_o,
    output logic    [PortWidth-1:0] port_o,
    // The request had no UDP checksum, so its reply has none.
    output logic                    none_o
);
  localparam int unsigned Lanes = 8;
  localparam int unsigned CountByte = 50;
  // Lane of the first result, in the second word, and lanes from one result to the next.
  localparam logic [2:0] FirstLane = 3'd1;
  localparam logic [2:0] EntryLanes = 3'd3;
  // From this lane on, the next result is in the next word.
  localparam logic [2:0] LastLane = 3'd5;

  word_t word_q;
  logic busy_q, first_q, patches, completes, leaves;
  logic [PortWidth-1:0] port_q;
  logic none_q;
  // Outstanding results, and the lane of the next one. Whether none are left, and whether it is the last in its word,
  // are computed ahead because they control all movement.
  logic [7:0] left_q, left;
  logic none_left_q, last_here_q;
  logic [2:0] lane_q, next_lane;

  // The first word holds no results, nor does one that holds only the last two bytes of an entry. Other words leave
  // with their last result.
  logic plain;
  assign plain = first_q || none_left_q;
  assign completes = plain || (result_valid_i && last_here_q);
  assign valid_o = busy_q && completes;
  assign leaves = valid_o && ready_i;
  assign patches = busy_q && !plain && result_valid_i && (!completes || ready_i);
  assign result_ready_o = busy_q && !plain && (!completes || ready_i);
  assign word_ready_o = !busy_q || leaves;

  word_t patched;
  always_comb begin
    patched = word_q;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      if (!plain && lane_q == 3'(lane)) begin
        patched.data[64*lane+16+:48] = {
          8'(status_i), 8'b0, value_i[7:0], value_i[15:8], value_i[23:16], value_i[31:24]
        };
      end
    end
  end
  assign word_o = patched;
  assign port_o = port_q;
  assign none_o = none_q;

  // Headers of the reply.
  packet_t request, reply;
  batch_header_t frame;
  always_comb begin
    request = swap_bytes(word_i.data);
    reply = swap_addresses(request);
    reply.ipv4.checksum = reply_checksum(request.ipv4);
    reply.udp.checksum = '0;
    frame = request.compact[$bits(compact_frame_t)-1-:$bits(batch_header_t)];
    frame.header.kind |= protocol_pkg::ReplyBit;
    frame.promise = promise_i;
    reply.compact[$bits(compact_frame_t)-1-:$bits(batch_header_t)] = frame;
  end

  // The word after a packet's last word starts the next packet.
  logic loads;
  assign loads = word_valid_i && word_ready_o;
  logic ends_q;
  `FFE(ends_q, word_i.last, loads, 1'b1)
  `FFE(busy_q, loads, word_ready_o, 1'b0)
  `FFE(first_q, ends_q, loads, 1'b0)
  `FFNE(port_q, port_i, loads)
  `FFNE(none_q, request.udp.checksum == '0, loads && ends_q)
  // Read from the first word while it is here.
  assign left = first_q ? word_q.data[8*(CountByte+1)+:8] : left_q - 8'd1;
  assign next_lane = first_q ? FirstLane : lane_q + EntryLanes;
  `FFNE(left_q, left, first_q || patches)
  `FFNE(none_left_q, left == '0, first_q || patches)
  `FFNE(lane_q, next_lane, first_q || patches)
  `FFNE(last_here_q, left == 8'd1 || next_lane >= LastLane, first_q || patches)
  always_ff @(posedge clk_i) begin
    if (loads) begin
      word_q <= word_i;
      if (ends_q) word_q.data <= swap_bytes(reply);
    end else if (patches) begin
      word_q <= patched;
    end
  end

  `ASSERT(results_end_with_the_packet, !(patches && left_q == 8'd1) || word_q.last || lane_q == '1)
  `ASSERT(packets_end_with_results, !(leaves && word_q.last) || left_q == 8'(patches))
endmodule
