// Reset of a clock: asserted at once, released two of its edges after `rst_ni`.
module reset_synchronizer (
    input  logic clk_i,
    input  logic rst_ni,
    output logic rst_no
);
  logic first_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {rst_no, first_q} <= '0;
    else {rst_no, first_q} <= {first_q, 1'b1};
  end
endmodule
