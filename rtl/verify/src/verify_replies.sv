// Frames whose messages are in the engines, and their replies: a reply leaves once all of its messages have a verdict,
// in any order, with the results in message order. Frames may overtake each other.
//
// A result takes five cycles. checksum_writer fills in the UDP checksum, which is zero here.

`include "assertions.svh"
`include "registers.svh"

module verify_replies
  import frame_pkg::*;
  import wire_pkg::*;
  import verify_frame_pkg::*;
#(
    parameter int unsigned PortWidth = 3
) (
    input  logic                               clk_i,
    input  logic                               rst_ni,
    // Frame: the first word of its packet, and the place assigned to it.
    input  logic                               frame_valid_i,
    output logic                               frame_ready_o,
    input  logic         [            511:0]   frame_data_i,
    input  logic         [    PortWidth-1:0]   frame_port_i,
    output logic         [$clog2(Frames)-1:0]  frame_o,
    // Message passed to an engine.
    input  logic                               asked_i,
    input  tag_t                               asked_tag_i,
    input  logic         [              7:0]   command_i,
    input  logic         [             63:0]   index_i,
    // Verdict: at most one per message, and not in the cycle of the message itself.
    input  logic                               verdict_valid_i,
    input  verdict_t                           verdict_i,
    // Replies, in words of 64 bytes.
    output logic                               valid_o,
    input  logic                               ready_i,
    output word_t                              word_o,
    output logic         [    PortWidth-1:0]   port_o,
    output logic                               none_o
);
  localparam int unsigned FrameWidth = $clog2(Frames);
  localparam int unsigned NumberWidth = $clog2(MostMessages);
  typedef logic [FrameWidth-1:0] frame_t;
  typedef logic [NumberWidth-1:0] number_t;
  // Length of a reply without results: headers of IPv4, UDP and the frame.
  localparam logic [15:0] EmptyLength = 16'(Ipv4Bytes + UdpBytes + FrameBytes);

  // Places: the next frame gets the lowest free one.
  logic [Frames-1:0] used_q, first_free;
  logic begins, ends;
  frame_t leaving_q;
  find_first #(
      .Width(Frames)
  ) u_free (
      .word_i (~used_q),
      .first_o(first_free)
  );
  assign frame_ready_o = !(&used_q);
  assign begins = frame_valid_i && frame_ready_o;
  always_comb begin
    frame_o = '0;
    for (int unsigned at = 0; at < Frames; at++) if (first_free[at]) frame_o |= frame_t'(at);
  end
  for (genvar at = 0; at < Frames; at++) begin : gen_place
    logic accept, frees;
    assign accept = begins && first_free[at];
    assign frees = ends && leaving_q == frame_t'(at);
    `FFE(used_q[at], accept, accept || frees, 1'b0)
  end

  // Headers of the reply, two cycles after the frame; its own verdicts take longer.
  typedef struct packed {
    logic [PortWidth-1:0] port;
    logic                 none;
    logic [511:0]         head;
  } head_t;
  packet_t request_q, reply;
  verify_header_t frame;
  logic begins_q, begins_qq;
  frame_t place_q, place_qq;
  number_t count_q;
  logic [PortWidth-1:0] port_q, port_qq;
  logic [15:0] length, length_q, sum_q;
  packet_t swapped_q;
  logic none_q;
  assign length = EmptyLength + {6'b0, count_q, 5'b0};
  `FF({begins_qq, begins_q}, {begins_q, begins}, '0)
  `FFNE(request_q, swap_bytes(frame_data_i), begins)
  `FFNE(place_q, frame_o, begins)
  `FFNE(port_q, frame_port_i, begins)
  assign frame   = request_q.compact[$bits(compact_frame_t)-1-:$bits(verify_header_t)];
  assign count_q = number_t'(frame.count);
  `FFN(swapped_q, swap_addresses(request_q))
  `FFN(place_qq, place_q)
  `FFN(port_qq, port_q)
  `FFN(length_q, length)
  `FFN(none_q, request_q.udp.checksum == '0)
  // Incremental update (RFC 1624) for the time to live and the length.
  `FFN(sum_q, add_three(~reply_checksum(request_q.ipv4), ~request_q.ipv4.length, length))
  always_comb begin
    verify_header_t answer;
    reply = swapped_q;
    reply.ipv4.length = length_q;
    reply.ipv4.checksum = ~sum_q;
    reply.udp.length = length_q - 16'(Ipv4Bytes);
    reply.udp.checksum = '0;
    answer = swapped_q.compact[$bits(compact_frame_t)-1-:$bits(verify_header_t)];
    answer.header.kind |= protocol_pkg::ReplyBit;
    reply.compact[$bits(compact_frame_t)-1-:$bits(verify_header_t)] = answer;
  end
  head_t head;
  (* ram_style = "distributed" *)head_t heads_q[Frames];
  always_ff @(posedge clk_i) begin
    if (begins_qq) heads_q[place_qq] <= '{port: port_qq, none: none_q, head: swap_bytes(reply)};
  end

  // Number of missing verdicts, and frames that have all.
  (* ram_style = "distributed" *)number_t counts_q [Frames];
  number_t missing_q[Frames];
  logic completes, done_valid, done_ready, unused_room;
  frame_t done;
  logic [$clog2(Frames+1)-1:0] unused_done;
  always_ff @(posedge clk_i) begin
    if (begins_q) counts_q[place_q] <= count_q;
    if (begins_q) missing_q[place_q] <= count_q;
    if (verdict_valid_i) missing_q[verdict_i.tag.frame] <= missing_q[verdict_i.tag.frame] - 1'b1;
  end
  assign completes = verdict_valid_i && missing_q[verdict_i.tag.frame] == number_t'(1);
  fifo #(
      .Width(FrameWidth),
      .Depth(Frames)
  ) u_done (
      .clk_i,
      .rst_ni,
      .valid_i(completes),
      .ready_o(unused_room),
      .data_i (verdict_i.tag.frame),
      .valid_o(done_valid),
      .ready_i(done_ready),
      .data_o (done),
      .count_o(unused_done)
  );
  `ASSERT(verdicts_are_missing,
          !verdict_valid_i || (used_q[verdict_i.tag.frame] && missing_q[verdict_i.tag.frame] != '0))

  // Messages, and their verdicts. The cycle counter wraps around; no message takes that long.
  typedef struct packed {
    logic [31:0] time_;
    logic [7:0]  command;
    logic [63:0] index;
  } asked_t;
  typedef struct packed {
    logic [31:0] time_;
    logic [5:0]  rule;
  } judged_t;
  logic [31:0] time_q;
  asked_t asked;
  judged_t judged;
  logic reads;
  number_t number_q;
  `FF(time_q, time_q + 1'b1, '0)
  ram_1r1w #(
      .Width($bits(asked_t)),
      .Depth(Frames * MostMessages)
  ) u_asked (
      .clk_i,
      .write_i        (asked_i),
      .write_address_i(asked_tag_i),
      .write_data_i   ({time_q, command_i, index_i}),
      .read_i         (reads),
      .read_address_i ({leaving_q, number_q}),
      .read_data_o    (asked)
  );
  ram_1r1w #(
      .Width($bits(judged_t)),
      .Depth(Frames * MostMessages)
  ) u_judged (
      .clk_i,
      .write_i        (verdict_valid_i),
      .write_address_i(verdict_i.tag),
      .write_data_i   ({time_q, verdict_i.rule}),
      .read_i         (reads),
      .read_address_i ({leaving_q, number_q}),
      .read_data_o    (judged)
  );
  logic unused_reserved;
  assign unused_reserved = ^verdict_i.reserved;

  // The reply, in parts of 8 bytes. The head ends two bytes into one, so each part takes two bytes of the previous one.
  typedef enum logic [2:0] {
    StateIdle,
    StateHead,
    StateRead,    // read the message's data and its verdict
    StateResult,
    StateRest
  } state_e;
  state_e state_q, state_d;
  logic [2:0] part_q;
  logic [8*HeadRest-1:0] rest_q;
  // Its first part highest.
  localparam int unsigned ResultParts = ResultBytes / 8;
  verify_result_t result;
  logic [ResultParts-1:0][63:0] result_parts;
  logic [63:0] result_part;
  logic part_valid, part_ready, moves, last_part, last_number;
  logic [63:0] part;
  assign head = heads_q[leaving_q];
  assign result_parts = result;
  assign part_valid = state_q inside {StateHead, StateResult, StateRest};
  assign moves = part_valid && part_ready;
  assign last_part = part_q == (state_q == StateHead ? 3'(HeadParts - 1) : 3'(ResultParts - 1));
  assign last_number = number_q + 1'b1 == counts_q[leaving_q];
  assign reads = state_q == StateRead;
  assign done_ready = state_q == StateIdle;
  assign ends = state_q == StateRest && moves;
  always_comb begin
    result = '{
        message: '{
            command: protocol_pkg::MessageReplyBit | protocol_pkg::VerifyCommandEquihash | 32'(asked.command),
            length: 32'(ResultBytes),
            index: swap_part(asked.index)
        },
        result_mask: judged.rule == '0 ? '0 : 64'd1 << judged.rule,
        cycle_count: 64'(judged.time_ - asked.time_)
    };
    result_part = swap_part(result_parts[2'(ResultParts-1)-part_q[1:0]]);
    part = {result_part[63-8*HeadRest:0], rest_q};
    if (state_q == StateHead) part = head.head[64*part_q+:64];
    if (state_q == StateRest) part = 64'(rest_q);
  end
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateIdle: if (done_valid) state_d = StateHead;
      StateHead: if (moves && last_part) state_d = StateRead;
      StateRead: state_d = StateResult;
      StateResult: if (moves && last_part) state_d = last_number ? StateRest : StateRead;
      StateRest: if (moves) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
  end
  `FF(state_q, state_d, StateIdle)
  `FFE(part_q, last_part ? '0 : part_q + 1'b1, moves && state_q != StateRest, '0)
  `FFNE(leaving_q, done, state_q == StateIdle)
  `FFNE(number_q, state_q == StateIdle ? '0 : number_q + 1'b1,
        state_q == StateIdle || (state_q == StateResult && moves && last_part))
  `FFNE(rest_q, state_q == StateHead ? head.head[64*HeadParts+:8*HeadRest] : result_part[63-:8*HeadRest],
        moves && state_q != StateRest)

  // The port is stable while the last word leaves; another frame's port comes no sooner.
  logic last_word;
  stream_widen #(
      .DataWidth(64),
      .WideWidth(WordWidth)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i(part_valid),
      .ready_o(part_ready),
      .data_i (part),
      .keep_i (state_q == StateRest ? 8'((1 << HeadRest) - 1) : '1),
      .last_i (state_q == StateRest),
      .valid_o,
      .ready_i,
      .data_o (word_o.data),
      .keep_o (word_o.keep),
      .last_o (last_word)
  );
  assign word_o.last = last_word;
  `FFNE(port_o, head.port, state_q == StateHead && moves)
  `FFNE(none_o, head.none, state_q == StateHead && moves)
endmodule
