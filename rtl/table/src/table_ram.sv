// Buckets of one half in on-chip memory. Writes one entry at a time. Clears itself after reset, one bucket per cycle.
// Data come two cycles after the address.

`include "registers.svh"

module table_ram #(
    parameter int unsigned Ways       = 8,
    parameter int unsigned EntryWidth = 226,
    parameter int unsigned Buckets    = 512,
    localparam int unsigned AddrWidth = $clog2(Buckets)
) (
    input  logic                             clk_i,
    input  logic                             rst_ni,
    output logic                             ready_o,
    input  logic [AddrWidth-1:0]             read_addr_i,
    output logic [     Ways-1:0][EntryWidth-1:0] read_data_o,
    input  logic [     Ways-1:0]             write_i,
    input  logic [AddrWidth-1:0]             write_addr_i,
    input  logic [EntryWidth-1:0]            write_data_i
);

  logic clearing_q;
  logic [AddrWidth-1:0] clear_q;
  `FFE(clear_q, clear_q + 1'b1, clearing_q, '0)
  `FFE(clearing_q, 1'b0, clear_q == AddrWidth'(Buckets - 1), 1'b1)
  assign ready_o = !clearing_q;

  // The extra cycle of a write is invisible to the reader, whose forwarding lasts until the write; so the choice of the
  // writer comes before the register.
  logic [Ways-1:0][EntryWidth-1:0] data;
  logic [EntryWidth-1:0] write_data;
  // The highest bit of an entry marks it as used.
  assign write_data = {write_data_i[EntryWidth-1] && !clearing_q, write_data_i[EntryWidth-2:0]};
  table_ways #(
      .Ways      (Ways),
      .EntryWidth(EntryWidth),
      .Depth     (Buckets)
  ) u_ways (
      .clk_i,
      .write_i     (write_i | {Ways{clearing_q}}),
      .write_addr_i(clearing_q ? clear_q : write_addr_i),
      .write_data_i({Ways{write_data}}),
      .read_addr_i,
      .read_data_o (data)
  );

  // Block memories have slow outputs: register them before the comparators.
  `FFN(read_data_o, data)

endmodule
