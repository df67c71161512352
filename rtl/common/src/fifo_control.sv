// Control of a queue of `Depth` words: write address, read address and count for its memory.
//
// A word enters with `valid_i` and `ready_o`, and leaves with `valid_o` and `ready_i`. `ready_o` and `valid_o` are
// registers: a full queue accepts nothing, even in a cycle in which a word leaves. The memory may be written at
// `write_o` while there is room, whether or not a word enters: that place holds no word until then, and a wide write
// enable is available early.

`include "assertions.svh"
`include "registers.svh"

module fifo_control #(
    parameter  int unsigned Depth        = 16,
    localparam int unsigned PointerWidth = Depth > 1 ? $clog2(Depth) : 1,
    localparam int unsigned CountWidth   = $clog2(Depth + 1)
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    valid_i,
    output logic                    ready_o,
    output logic                    valid_o,
    input  logic                    ready_i,
    output logic [PointerWidth-1:0] write_o,
    output logic [PointerWidth-1:0] read_o,
    output logic [  CountWidth-1:0] count_o
);
  `PARAMETER_CHECK(depth, Depth > 0, "fifo_control: Depth must be at least 1")

  typedef logic [PointerWidth-1:0] pointer_t;
  typedef logic [CountWidth-1:0] count_t;

  function automatic pointer_t after(pointer_t pointer);
    return pointer == pointer_t'(Depth - 1) ? '0 : pointer + pointer_t'(1);
  endfunction

  logic push, pop;
  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;

  `FFE(write_o, after(write_o), push, '0)
  `FFE(read_o, after(read_o), pop, '0)
  `FFE(count_o, push ? count_o + count_t'(1) : count_o - count_t'(1), push != pop, '0)
  `FFE(ready_o, pop || count_o != count_t'(Depth - 1), push != pop, 1'b1)
  `FFE(valid_o, push || count_o != count_t'(1), push != pop, 1'b0)

  `ASSERT(count_is_told, ready_o == (32'(count_o) != Depth) && valid_o == (count_o != '0))
  // The pointers differ by the number of words; equal ones mean empty or full.
  `ASSERT(pointers_agree, (32'(read_o) + 32'(count_o)) % Depth == 32'(write_o))
endmodule
