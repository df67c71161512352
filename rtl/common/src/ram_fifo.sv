// A queue of `Depth` words in block RAM, and of three more on the way out of it: for words that are wide, or many. What it shows is in a register, as
// block RAM is slow to tell, and `ready_i` does not reach back to the memory, whose blocks lie all over the device.
//
// Latency 3 cycles, full throughput at any depth from 2. `ready_o` and `valid_o` are registers: a full memory takes nothing, also in the cycle
// in which a word leaves it.

`include "assertions.svh"
`include "registers.svh"

module ram_fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);
  `PARAMETER_CHECK(width, Width > 0, "ram_fifo: Width has to be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "ram_fifo: Depth has to be at least 1")

  localparam int unsigned PointerWidth = Depth > 1 ? $clog2(Depth) : 1;
  typedef logic [PointerWidth-1:0] pointer_t;
  typedef logic [$clog2(Depth+1)-1:0] count_t;

  function automatic pointer_t after(pointer_t pointer);
    return pointer == pointer_t'(Depth - 1) ? '0 : pointer + pointer_t'(1);
  endfunction

  // Words in the memory; whether one is at its output, and whether that moves on.
  count_t count_q;
  pointer_t write_q, read_q;
  logic enters, holds_q, reads, told_q, told_ready;
  logic [Width-1:0] told;

  assign enters = valid_i && ready_o;
  assign reads  = holds_q && (!told_q || told_ready);

  `FFE(write_q, after(write_q), enters, '0)
  `FFE(read_q, after(read_q), reads, '0)
  `FFE(count_q, enters ? count_q + count_t'(1) : count_q - count_t'(1), enters != reads, '0)
  `FFE(ready_o, reads || count_q != count_t'(Depth - 1), enters != reads, 1'b1)
  `FFE(holds_q, enters || count_q != count_t'(1), enters != reads, 1'b0)
  `FFE(told_q, holds_q, !told_q || told_ready, 1'b0)

  // Written while there is room, whether or not a word enters, as in `fifo`. A word is read in a later cycle than it is written in.
  ram_1r1w #(
      .Width(Width),
      .Depth(Depth)
  ) u_memory (
      .clk_i,
      .write_i        (ready_o),
      .write_address_i(write_q),
      .write_data_i   (data_i),
      .read_i         (reads),
      .read_address_i (read_q),
      .read_data_o    (told)
  );
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
      .data_o
  );

  `ASSERT(count_is_told, ready_o == (32'(count_q) != Depth) && holds_q == (count_q != '0))
  // The pointers are as far apart as there are words; equal ones mean empty or full.
  `ASSERT(pointers_agree, (32'(read_q) + 32'(count_q)) % Depth == 32'(write_q))
  `ASSERT(written_is_not_read, !(reads && ready_o && read_q == write_q))
endmodule
