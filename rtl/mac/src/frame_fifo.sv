// Queue that outputs a frame only once it is complete and correct, so that it leaves without a pause. The words are in
// block RAM.
//
// `bad_i` with the last word drops the frame. A frame that does not fit waits for room; with `drop_i`, for a source
// that cannot wait, it is dropped. So is a frame longer than the queue, in any case. `dropped_o` reports a frame that
// was correct and is dropped.
//
// Latency 3 cycles after the last word, one word per cycle.

`include "assertions.svh"
`include "registers.svh"

module frame_fifo #(
    parameter  int unsigned DataWidth = 128,
    // 8 KiB at 128 bits, what five block RAMs of an ECP5 hold: five of the longest frames.
    parameter  int unsigned Depth     = 512,
    localparam int unsigned KeepWidth = DataWidth / 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 drop_i,
    output logic                 dropped_o,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic [KeepWidth-1:0] keep_i,
    input  logic                 last_i,
    input  logic                 bad_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic [DataWidth-1:0] data_o,
    output logic [KeepWidth-1:0] keep_o,
    output logic                 last_o
);
  `PARAMETER_CHECK(width, DataWidth >= 8 && DataWidth % 8 == 0, "frame_fifo: DataWidth must be a multiple of 8")
  `PARAMETER_CHECK(depth, Depth >= 2 && Depth == 2 ** $clog2(Depth), "frame_fifo: Depth must be a power of two from 2")

  localparam int unsigned AddressWidth = $clog2(Depth);
  localparam int unsigned Width = DataWidth + KeepWidth + 1;
  // One bit more than an address: equal addresses mean empty or full.
  typedef logic [AddressWidth:0] pointer_t;

  // The next word in, the first one of the incomplete frame, and the next one out.
  pointer_t write_q, begin_q, read_q;
  logic dropping_q, is_full, alone, refuses, enters, push, pop, told_q, told_ready;

  assign is_full = write_q - read_q == pointer_t'(Depth);
  // Nothing will leave before this frame.
  assign alone = begin_q == read_q;
  assign refuses = dropping_q || (is_full && (drop_i || alone));
  assign ready_o = !is_full || refuses;
  assign enters = valid_i && ready_o;
  assign push = enters && !refuses;
  assign dropped_o = enters && refuses && last_i && !bad_i;

  `FFE(dropping_q, !last_i, enters && refuses, 1'b0)
  `FFE(write_q, refuses || (last_i && bad_i) ? begin_q : write_q + pointer_t'(1), enters, '0)
  `FFE(begin_q, write_q + pointer_t'(1), push && last_i && !bad_i, '0)
  `FFE(read_q, read_q + pointer_t'(1), pop, '0)

  // The memory is read ahead: its word is valid a cycle later, and waits in the skid buffer.
  assign pop = read_q != begin_q && (!told_q || told_ready);
  logic [Width-1:0] told;
  ram_1r1w #(
      .Width(Width),
      .Depth(Depth)
  ) u_memory (
      .clk_i,
      .write_i        (push),
      .write_address_i(write_q[AddressWidth-1:0]),
      .write_data_i   ({last_i, keep_i, data_i}),
      .read_i         (pop),
      .read_address_i (read_q[AddressWidth-1:0]),
      .read_data_o    (told)
  );
  `FFE(told_q, pop, pop || told_ready, 1'b0)
  skid #(
      .Width(Width)
  ) u_out (
      .clk_i,
      .rst_ni,
      .valid_i(told_q),
      .ready_o(told_ready),
      .data_i (told),
      .valid_o,
      .ready_i,
      .data_o ({last_o, keep_o, data_o})
  );

  `ASSERT(whole_frames_are_words, begin_q - read_q <= write_q - read_q)
  `ASSERT(words_fit, write_q - read_q <= pointer_t'(Depth))
  `ASSERT(dropped_frame_has_no_words, !dropping_q || write_q == begin_q)
endmodule
