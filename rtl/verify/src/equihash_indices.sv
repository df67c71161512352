// Unpacks the indices of solutions from words of 64 bytes, `Lanes` per cycle.
//
// A solution begins `Offset` bytes into its first word and ends in the last one; the rest of that is not read.

`include "assertions.svh"
`include "registers.svh"

module equihash_indices #(
    parameter int unsigned Levels = 9,
    parameter int unsigned IndexWidth = 21,
    parameter int unsigned Offset = 15,
    parameter int unsigned Lanes = 1
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    input  logic                              valid_i,
    output logic                              ready_o,
    input  logic [     511:0]                 data_i,
    output logic                              valid_o,
    input  logic                              ready_i,
    output logic [ Lanes-1:0][IndexWidth-1:0] index_o,  // the first one highest
    output logic                              last_o
);
  localparam int unsigned Taken = Lanes * IndexWidth;
  localparam int unsigned Capacity = 128;
  localparam int unsigned CountWidth = 8;
  // 64 bits are appended at a time: the first part to take from a word, and the bits of it to skip.
  localparam logic [2:0] FirstPart = 3'(Offset / 8);
  localparam int unsigned FirstSkip = 8 * (Offset % 8);
  localparam int unsigned Appends = (FirstSkip + (IndexWidth << Levels) + 63) / 64;
  localparam int unsigned AppendWidth = $clog2(Appends + 1);
  localparam int unsigned Emits = (1 << Levels) / Lanes;
  localparam int unsigned EmitWidth = $clog2(Emits);

  logic [2:0] part_q;
  logic [AppendWidth-1:0] appended_q;
  logic [EmitWidth-1:0] emitted_q;
  logic [CountWidth-1:0] count_q, rest, count;
  logic [Capacity-1:0] bits_q, shifted, bits;
  logic emits, ends, has_room, appends, ends_word;

  logic [63:0] next;
  for (genvar byte_ = 0; byte_ < 8; byte_++) begin : gen_byte
    assign next[8*(7-byte_)+:8] = data_i[64*part_q+8*byte_+:8];
  end

  assign valid_o = count_q >= CountWidth'(Taken);
  assign emits = valid_o && ready_i;
  assign last_o = emitted_q == EmitWidth'(Emits - 1);
  assign ends = emits && last_o;
  assign index_o = bits_q[Capacity-1-:Taken];
  assign rest = emits ? count_q - CountWidth'(Taken) : count_q;
  assign shifted = emits ? bits_q << Taken : bits_q;
  assign has_room = rest <= CountWidth'(Capacity - 64);
  assign appends = valid_i && has_room && appended_q != AppendWidth'(Appends);
  // The last word of a solution is held until the solution has ended.
  assign ends_word = appends && (part_q == 3'd7 || appended_q == AppendWidth'(Appends - 1));
  assign ready_o = ends_word;

  always_comb begin
    bits  = shifted;
    count = rest;
    if (appends && appended_q == '0) begin
      bits  = shifted | {next << FirstSkip, 64'd0} >> rest;
      count = rest + CountWidth'(64 - FirstSkip);
    end else if (appends) begin
      bits  = shifted | {next, 64'd0} >> rest;
      count = rest + CountWidth'(64);
    end
    if (ends) begin
      bits  = '0;
      count = '0;
    end
  end
  `FF(bits_q, bits, '0)
  `FF(count_q, count, '0)
  `FF(part_q, ends ? FirstPart : appends ? part_q + 3'd1 : part_q, FirstPart)
  `FF(appended_q, ends ? '0 : appends ? appended_q + 1'b1 : appended_q, '0)
  `FFE(emitted_q, last_o ? '0 : emitted_q + 1'b1, emits, '0)

  `ASSERT(all_is_appended, !ends || appended_q == AppendWidth'(Appends))
endmodule
