// A queue of `Depth` words that shows its first word at the output; its memory is read without a clock (distributed RAM).
//
// Latency 1 cycle, full throughput at any depth from 2. `ready_o` and `valid_o` are registers: a full queue takes nothing, also in the cycle
// in which a word leaves.

`include "assertions.svh"
`include "registers.svh"

module fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 16,
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  valid_i,
    output logic                  ready_o,
    input  logic [     Width-1:0] data_i,
    output logic                  valid_o,
    input  logic                  ready_i,
    output logic [     Width-1:0] data_o,
    output logic [CountWidth-1:0] count_o
);
  `PARAMETER_CHECK(width, Width > 0, "fifo: Width has to be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "fifo: Depth has to be at least 1")

  localparam int unsigned PointerWidth = Depth > 1 ? $clog2(Depth) : 1;
  typedef logic [PointerWidth-1:0] pointer_t;
  typedef logic [CountWidth-1:0] count_t;

  function automatic pointer_t after(pointer_t pointer);
    return pointer == pointer_t'(Depth - 1) ? '0 : pointer + pointer_t'(1);
  endfunction

  // Also where a register follows, which tools would make block RAM's: it is much slower to tell what was read.
  (* ram_style = "distributed" *) logic [Width-1:0] memory_q[Depth];
  pointer_t write_q, read_q;
  logic enters, leaves;

  assign enters = valid_i && ready_o;
  assign leaves = valid_o && ready_i;
  assign data_o = memory_q[read_q];

  `FFE(write_q, after(write_q), enters, '0)
  `FFE(read_q, after(read_q), leaves, '0)
  `FFE(count_o, enters ? count_o + count_t'(1) : count_o - count_t'(1), enters != leaves, '0)
  `FFE(ready_o, leaves || count_o != count_t'(Depth - 1), enters != leaves, 1'b1)
  `FFE(valid_o, enters || count_o != count_t'(1), enters != leaves, 1'b0)

  // Written while there is room, whether or not a word enters: its place is no word's until then, and what enables many cells comes early.
  always_ff @(posedge clk_i) begin
    if (ready_o) memory_q[write_q] <= data_i;
  end

  `ASSERT(count_is_told, ready_o == (32'(count_o) != Depth) && valid_o == (count_o != '0))
  // The pointers are as far apart as there are words; equal ones mean empty or full.
  `ASSERT(pointers_agree, (32'(read_q) + 32'(count_o)) % Depth == 32'(write_q))
endmodule
