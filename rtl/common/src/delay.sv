// Delays a value by Depth cycles. The output is undefined for the first Depth cycles.

module delay #(
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
  end else if (Depth <= 5) begin : gen_delay
    logic [Depth-1:0][Width-1:0] delay_q;
    always_ff @(posedge clk_i) begin
      delay_q[0] <= data_i;
      for (int unsigned i = 1; i < Depth; i++) delay_q[i] <= delay_q[i-1];
    end
    assign data_o = delay_q[Depth-1];
  end else begin : gen_ring
    // A ring in distributed RAM with an output register: four bits of up to 16 words take as many cells as four
    // registers. The start position is irrelevant, so nothing is reset.
    localparam int unsigned Places = Depth - 1;
    (* ram_style = "distributed" *) logic [Width-1:0] ring_q[Places];
    logic [$clog2(Places)-1:0] place_q;
    always_ff @(posedge clk_i) begin
      place_q <= 32'(place_q) >= Places - 1 ? '0 : place_q + 1'b1;
      ring_q[place_q] <= data_i;
      data_o <= ring_q[place_q];
    end
  end

endmodule
