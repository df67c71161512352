// A value, Depth cycles later.

module table_delay #(
    parameter int unsigned Width = 1,
    parameter int unsigned Depth = 1
) (
    input  logic             clk_i,
    input  logic [Width-1:0] data_i,
    output logic [Width-1:0] data_o
);

  if (Depth == 0) begin : gen_wire
    assign data_o = data_i;
    logic unused_clk;
    assign unused_clk = clk_i;
  end else begin : gen_delay
    logic [Depth-1:0][Width-1:0] delay_q;
    always_ff @(posedge clk_i) begin
      delay_q[0] <= data_i;
      for (int unsigned i = 1; i < Depth; i++) delay_q[i] <= delay_q[i-1];
    end
    assign data_o = delay_q[Depth-1];
  end

endmodule
