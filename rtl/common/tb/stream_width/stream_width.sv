// stream_widen followed by stream_narrow: the output equals the input.
module stream_width #(
    parameter int unsigned DataWidth = 64,
    parameter int unsigned WideWidth = 512,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned WideKeepWidth = WideWidth / 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic [KeepWidth-1:0] keep_i,
    input  logic                 last_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic [DataWidth-1:0] data_o,
    output logic [KeepWidth-1:0] keep_o,
    output logic                 last_o,
    // The wide side, for observation.
    output logic                 wide_moves_o,
    output logic                 wide_last_o,
    output logic [         15:0] wide_bytes_o
);
  logic wide_valid, wide_ready;
  logic [WideWidth-1:0] wide_data;
  logic [WideKeepWidth-1:0] wide_keep;

  stream_widen #(
      .DataWidth(DataWidth),
      .WideWidth(WideWidth)
  ) u_widen (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i,
      .keep_i,
      .last_i,
      .valid_o(wide_valid),
      .ready_i(wide_ready),
      .data_o (wide_data),
      .keep_o (wide_keep),
      .last_o (wide_last_o)
  );
  stream_narrow #(
      .WideWidth(WideWidth),
      .DataWidth(DataWidth)
  ) u_narrow (
      .clk_i,
      .rst_ni,
      .valid_i(wide_valid),
      .ready_o(wide_ready),
      .data_i (wide_data),
      .keep_i (wide_keep),
      .last_i (wide_last_o),
      .valid_o,
      .ready_i,
      .data_o,
      .keep_o,
      .last_o
  );
  assign wide_moves_o = wide_valid && wide_ready;
  assign wide_bytes_o = 16'($countones(wide_keep));
endmodule
