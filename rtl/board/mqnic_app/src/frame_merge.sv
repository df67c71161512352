// Merges streams of whole frames, each with `tuser`, in round robin. The output is a register.

module frame_merge #(
    parameter int unsigned DataWidth = 512,
    parameter int unsigned UserWidth = 1,
    parameter int unsigned Sources = 2,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned SourceWidth = Sources > 1 ? $clog2(Sources) : 1
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    input  logic [Sources-1:0]                valid_i,
    output logic [Sources-1:0]                ready_o,
    input  logic [Sources-1:0][DataWidth-1:0] data_i,
    input  logic [Sources-1:0][KeepWidth-1:0] keep_i,
    input  logic [Sources-1:0]                last_i,
    input  logic [Sources-1:0][UserWidth-1:0] user_i,
    output logic                              valid_o,
    input  logic                              ready_i,
    output logic [DataWidth-1:0]              data_o,
    output logic [KeepWidth-1:0]              keep_o,
    output logic                              last_o,
    output logic [UserWidth-1:0]              user_o
);
  logic chosen_valid, chosen_ready, chosen_last;
  logic [  DataWidth-1:0] chosen_data;
  logic [  KeepWidth-1:0] chosen_keep;
  logic [SourceWidth-1:0] chosen;
  stream_arbiter #(
      .DataWidth(DataWidth),
      .Ports    (Sources)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i,
      .keep_i,
      .last_i,
      .valid_o(chosen_valid),
      .ready_i(chosen_ready),
      .data_o (chosen_data),
      .keep_o (chosen_keep),
      .last_o (chosen_last),
      .port_o (chosen)
  );
  skid #(
      .Width(DataWidth + KeepWidth + 1 + UserWidth)
  ) u_out (
      .clk_i,
      .rst_ni,
      .valid_i(chosen_valid),
      .ready_o(chosen_ready),
      .data_i ({user_i[chosen], chosen_last, chosen_keep, chosen_data}),
      .valid_o,
      .ready_i,
      .data_o ({user_o, last_o, keep_o, data_o})
  );
endmodule
