// Second stage for batch frames of compact entries: extracts their operations, one per cycle. The words go on to wait
// for the results.
//
// The selector has checked that the frame is well formed, with a length that matches its count. The first 24-byte entry
// begins at byte 58 of the packet, so entries begin at one of eight places in a word and often continue in the next
// word. Latency: 1 cycle. The register separates locating an entry from decoding it and from arbitration.

`include "assertions.svh"
`include "registers.svh"

module batch_extractor
  import frame_pkg::*;
  import wire_pkg::*;
  import transfer_pkg::*;
#(
    parameter int unsigned PortWidth = 3
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic                     valid_i,
    output logic                     ready_o,
    input  word_t                    word_i,
    input  logic     [PortWidth-1:0] port_i,
    // Every word, no later than the first operation that ends in it.
    output logic                     word_valid_o,
    input  logic                     word_ready_i,
    output word_t                    word_o,
    output logic     [PortWidth-1:0] word_port_o,
    output logic                     operation_valid_o,
    input  logic                     operation_ready_i,
    output compact_frame_t                 compact_o,
    output operation_t               operation_o,
    output logic     [PortWidth-1:0] operation_port_o
);
  localparam int unsigned EntryBytes = 24;
  localparam int unsigned CountByte = 50;
  // Place of an entry in a word, in steps of 8 bytes from byte 2; the first entry is at byte 58.
  localparam logic [2:0] FirstPlace = 3'd7;
  localparam logic [2:0] EntryPlaces = 3'd3;
  // From this place on, the entry continues in the next word.
  localparam logic [2:0] CrossingPlace = 3'd5;

  logic [WordWidth-1:0] data_q;
  logic busy_q, crosses_q, whole, entry_ready, extracts, accept, ends;
  logic [7:0] left_q;
  logic [2:0] place_q, next_place;
  logic [PortWidth-1:0] port_q;

  assign ends = left_q == 8'd1;
  // An entry that continues in the next word leaves together with that word.
  assign whole = busy_q && (!crosses_q || (valid_i && word_ready_i));
  assign extracts = whole && entry_ready;
  assign accept = busy_q ? extracts && crosses_q : valid_i && word_ready_i;
  assign ready_o = accept;
  assign word_valid_o = accept;
  assign word_o = word_i;
  assign word_port_o = port_i;

  `FFE(busy_q, !(busy_q && ends), accept || extracts, 1'b0)
  `FFNE(data_q, word_i.data, accept)
  `FFNE(port_q, port_i, accept)
  // The count's upper byte is zero.
  `FFNE(left_q, busy_q ? left_q - 8'd1 : word_i.data[8*(CountByte+1)+:8], accept || extracts)
  assign next_place = busy_q ? place_q + EntryPlaces : FirstPlace;
  `FFNE(place_q, next_place, accept || extracts)
  // Computed ahead, because it controls all movement.
  `FFNE(crosses_q, next_place >= CrossingPlace, accept || extracts)

  logic [2*WordWidth-1:0] window;
  logic [8*EntryBytes-1:0] entry, swapped;
  assign window = {word_i.data, data_q};
  always_comb begin
    entry = '0;
    for (int unsigned place = 0; place < 8; place++) begin
      if (place_q == 3'(place)) entry = window[8*(8*place+2)+:8*EntryBytes];
    end
    for (int at = 0; at < EntryBytes; at++) swapped[8*at+:8] = entry[8*(EntryBytes-1-at)+:8];
  end

  // The two bytes after the frame must be zero.
  logic padded;
  skid #(
      .Width($bits(compact_frame_t) + 1 + PortWidth)
  ) u_entry (
      .clk_i,
      .rst_ni,
      .valid_i(whole),
      .ready_o(entry_ready),
      .data_i ({swapped[8*EntryBytes-1-:$bits(compact_frame_t)], swapped[15:0] == '0, port_q}),
      .valid_o(operation_valid_o),
      .ready_i(operation_ready_i),
      .data_o ({compact_o, padded, operation_port_o})
  );

  operation_t formed;
  command_extractor u_extractor (
      .compact_i  (compact_o),
      .trusted_i  (1'b1),
      .operation_o(formed)
  );
  always_comb begin
    operation_o = formed;
    if (formed.refusal == StatusOk && !padded) operation_o.refusal = StatusMalformed;
  end

  `ASSERT(entries_end_with_the_packet, !(extracts && crosses_q && ends) || word_i.last)
endmodule
