// On-chip hash table with value blocks by size class. The table holds keys and the addresses of their values; a result
// names the block to write or to read. The user stores the values. Results come in order, so a block that is freed and
// allocated again is never read or written out of turn.

module table_store
  import table_pkg::*;
#(
    parameter int unsigned KeyBytes    = 16,
    parameter int unsigned TimeWidth   = 32,
    parameter int unsigned TagWidth    = 8,
    parameter int unsigned Buckets     = 512,
    parameter int unsigned Classes     = 4,
    parameter int unsigned Blocks      = 256,
    parameter int unsigned LengthWidth = 16,
    localparam int unsigned ValueWidth = $clog2(Classes) + $clog2(Blocks) + LengthWidth,
    localparam int unsigned CountWidth = $clog2(2 * 8 * Buckets + 16 + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic [     3:0][63:0] secrets_i,
    input  logic [ TimeWidth-1:0] now_i,
    input  logic                  request_valid_i,
    output logic                  request_ready_o,
    input  op_e                   request_op_i,
    input  logic [8*KeyBytes-1:0] request_key_i,
    input  logic [ValueWidth-1:0] request_value_i,  // {class, anything, length}, see table_values
    input  logic [ TimeWidth-1:0] request_expiry_i,
    input  logic [  TagWidth-1:0] request_tag_i,
    output logic                  result_valid_o,
    input  logic                  result_ready_i,
    output status_e               result_status_o,
    output logic [ValueWidth-1:0] result_value_o,
    output logic [  TagWidth-1:0] result_tag_o,
    output logic [CountWidth-1:0] count_o
);

  logic [Classes-1:0] avail, more, take;
  logic [ValueWidth-1:0] block, old_value, new_value, given;
  logic reuse, give, values_ready, table_ready, unused_decided, unused_found;

  assign request_ready_o = table_ready && values_ready;
  table_onchip #(
      .KeyBytes  (KeyBytes),
      .ValueWidth(ValueWidth),
      .TimeWidth (TimeWidth),
      .TagWidth  (TagWidth),
      .Buckets   (Buckets),
      .Classes   (Classes)
  ) u_table (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .now_i,
      .request_valid_i(request_valid_i && values_ready),
      .request_ready_o(table_ready),
      .request_op_i,
      .request_key_i,
      .request_value_i,
      .request_expiry_i,
      .request_tag_i,
      .result_valid_o,
      .result_ready_i,
      .result_status_o,
      .result_value_o,
      .result_tag_o,
      .avail_i        (avail),
      .more_i         (more),
      .take_o         (take),
      .block_i        (block),
      .reuse_o        (reuse),
      .old_o          (old_value),
      .new_o          (new_value),
      .give_o         (give),
      .given_o        (given),
      .decided_o      (unused_decided),
      .found_o        (unused_found),
      .count_o
  );

  table_values #(
      .Classes    (Classes),
      .Blocks     (Blocks),
      .LengthWidth(LengthWidth)
  ) u_values (
      .clk_i,
      .rst_ni,
      .ready_o(values_ready),
      .avail_o(avail),
      .more_o (more),
      .take_i (take),
      .block_o(block),
      .reuse_i(reuse),
      .old_i  (old_value),
      .new_i  (new_value),
      .give_i (give),
      .given_i(given)
  );

endmodule
