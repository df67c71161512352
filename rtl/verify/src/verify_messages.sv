// Splits a packet with a verify frame into messages, wherever they begin, in 8-byte parts aligned to each message's own
// first byte. Outputs a part in every cycle.
//
// The last part of a packet belongs to a message that ends with it, or reports that there is no such message.

`include "assertions.svh"
`include "registers.svh"

module verify_messages
  import wire_pkg::*;
  import verify_frame_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,
    output logic         ready_o,
    input  word_t        word_i,
    output logic         valid_o,
    input  logic         ready_i,
    output part_t        part_o,
    // Number of messages according to the frame; the same for all parts of a packet.
    output logic  [15:0] count_o
);
  // The packet in parts of 8 bytes.
  logic next_valid, next_ready, next_last;
  logic [63:0] next;
  logic [ 7:0] next_keep;
  stream_narrow #(
      .WideWidth(WordWidth),
      .DataWidth(64)
  ) u_narrow (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i (word_i.data),
      .keep_i (word_i.keep),
      .last_i (word_i.last),
      .valid_o(next_valid),
      .ready_i(next_ready),
      .data_o (next),
      .keep_o (next_keep),
      .last_o (next_last)
  );

  // Head: skip what precedes the messages. Message: assemble parts from two parts of the packet, the held one and the
  // next. Rest: skip what follows a broken message.
  typedef enum logic [1:0] {
    StateHead,
    StateMessage,
    StateRest
  } state_e;
  state_e state_q, state_d;

  localparam int unsigned HeadWidth = $clog2(HeadParts + 1);
  // Offset of the frame's message count: after 8 bytes of the frame.
  localparam int unsigned CountByte = 42 + 8;
  logic [HeadWidth-1:0] head_q;
  logic [63:0] held_q;
  logic [7:0] held_keep_q;
  logic held_last_q, first_q;
  logic [2:0] offset_q, offset_d;
  logic [15:0] left_q, left;

  // Both parts, and the 8 bytes from the offset on.
  logic [127:0] window;
  logic [15:0] window_keep, behind;
  logic [63:0] data;
  logic [7:0] keep, need;
  logic [31:0] length;
  logic there, leaves, fits, is_last, advances, ends;
  logic [3:0] used, place;
  assign window = {next, held_q};
  assign window_keep = {next_keep & {8{!held_last_q}}, held_keep_q};
  assign data = 64'(window >> {offset_q, 3'b0});
  assign keep = 8'(window_keep >> offset_q);
  assign there = state_q == StateMessage && (held_last_q || next_valid);

  // The remaining length comes from the message's header or from the previous part; a message longer than any packet
  // does not fit.
  assign length = {data[39:32], data[47:40], data[55:48], data[63:56]};
  assign fits = !first_q || (length[31:16] == '0 && length[15:0] >= 16'(MessageBytes) && keep == '1);
  assign left = first_q ? length[15:0] : left_q;
  assign is_last = left <= 16'd8;
  assign used = is_last ? left[3:0] : 4'd8;
  assign need = ~(8'hff << used);
  assign place = {1'b0, offset_q} + used;
  assign behind = window_keep >> place;
  assign part_o.first = first_q;
  assign part_o.broken = !fits || (need & ~keep) != '0 || (!is_last && held_last_q);
  assign part_o.last = is_last || part_o.broken;
  assign part_o.ends = is_last && !part_o.broken && behind == '0 && (held_last_q || next_last);
  assign part_o.keep = need;
  assign part_o.data = data;
  assign valid_o = there;
  assign leaves = valid_o && ready_i;
  assign ends = leaves && (part_o.ends || part_o.broken);
  // The next message may begin in the held part.
  assign advances = place[3];
  assign offset_d = place[2:0];

  always_comb begin
    state_d = state_q;
    next_ready = 1'b0;
    unique case (state_q)
      StateHead: begin
        next_ready = 1'b1;
        // A packet that ends within its head has no message; the selector passes none such.
        if (next_valid && head_q == HeadWidth'(HeadParts)) state_d = StateMessage;
      end
      StateMessage: begin
        next_ready = leaves && !held_last_q && (advances || ends);
        if (ends) state_d = (held_last_q || next_last) ? StateHead : StateRest;
      end
      StateRest: begin
        next_ready = 1'b1;
        if (next_valid && next_last) state_d = StateHead;
      end
      default: state_d = StateHead;
    endcase
  end
  `FF(state_q, state_d, StateHead)
  `FFE(head_q, head_q == HeadWidth'(HeadParts) ? '0 : head_q + 1'b1, state_q == StateHead && next_valid, '0)
  logic accept;
  assign accept = next_valid && next_ready;
  `FFNE(held_q, next, accept)
  `FFNE(held_keep_q, next_keep, accept)
  `FFNE(held_last_q, next_last, accept)
  `FFE(first_q, part_o.last, leaves, 1'b1)
  `FFE(offset_q, state_q == StateHead || ends ? 3'(HeadRest) : offset_d, state_q == StateHead || leaves, 3'(HeadRest))
  `FFNE(left_q, left - 16'd8, leaves)
  `FFNE(count_o, {next[8*(CountByte%8)+:8], next[8*(CountByte%8+1)+:8]},
        state_q == StateHead && next_valid && head_q == HeadWidth'(CountByte / 8))

  `ASSUME(messages_behind_the_head, !(state_q == StateHead && next_valid && next_last))
endmodule
