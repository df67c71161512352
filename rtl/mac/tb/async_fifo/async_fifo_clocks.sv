// async_fifo with the names of ports that the testbenches' harness expects: the writer's clock is `clk_i`.
module async_fifo_clocks #(
    parameter int unsigned Width = 16,
    parameter int unsigned Depth = 16
) (
    input  logic             clk_i,
    input  logic             read_clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);
  async_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) u_fifo (
      .write_clk_i (clk_i),
      .write_rst_ni(rst_ni),
      .valid_i,
      .ready_o,
      .data_i,
      .read_clk_i,
      .read_rst_ni (rst_ni),
      .valid_o,
      .ready_i,
      .data_o
  );
endmodule
