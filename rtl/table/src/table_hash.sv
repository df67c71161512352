// Hash unit of a table: one of three functions. Carries the operation along with its key.
//
// For the keyed function the caller XORs keys with secrets_i[1:0] before a register, which saves a cycle. The table
// stores keys in this form: none leaves it, and XOR preserves equality.

`include "assertions.svh"
`include "registers.svh"

module table_hash
  import table_pkg::*;
#(
    // 0: keyed, as in crates/table. 1: Lookup3. 2: multiplicative.
    parameter int unsigned Function   = 0,
    parameter int unsigned KeyBytes   = 16,
    parameter int unsigned WithWidth  = 1
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic [     3:0][63:0] secrets_i,
    input  logic                  valid_i,
    input  logic [8*KeyBytes-1:0] key_i,
    input  logic [ WithWidth-1:0] with_i,
    output logic                  valid_o,
    output logic [          63:0] hash_o,
    output logic [ WithWidth-1:0] with_o
);

  `PARAMETER_CHECK(function, Function <= 2, "table_hash: Function must be 0 (keyed), 1 (Lookup3) or 2 (multiplicative)")
  `PARAMETER_CHECK(key, KeyBytes >= 1 && KeyBytes <= 16, "table_hash: KeyBytes must be from 1 to 16")

  localparam int unsigned Latency = Function == 0 ? keyed_latency(16) - 1 : Function == 1 ? 14 : 18;

  if (Function == 0) begin : gen_keyed
    logic [127:0] mixed;
    always_comb begin
      mixed = secrets_i[1:0];
      mixed[8*KeyBytes-1:0] = key_i;
    end
    table_hash_keyed #(
        .KeyBytes(16),
        .Mixed   (1'b1)
    ) u_hash (
        .clk_i,
        .secrets_i({secrets_i[3:2], 128'b0}),
        .key_i    (mixed),
        .hash_o
    );
  end else begin : gen_public
    logic [127:0] key;
    assign key = 128'(key_i);
    if (Function == 1) begin : gen_lookup3
      table_hash_lookup3 u_hash (
          .clk_i,
          .key_i(key),
          .length_i(5'(KeyBytes)),
          .hash_o
      );
    end else begin : gen_mult
      table_hash_mult u_hash (
          .clk_i,
          .key_i(key),
          .hash_o
      );
    end
    logic unused_secrets;
    assign unused_secrets = ^secrets_i;
  end

  delay #(
      .Width(WithWidth),
      .Depth(Latency)
  ) u_with (
      .clk_i,
      .data_i(with_i),
      .data_o(with_o)
  );

  logic [Latency-1:0] valid_q;
  `FF(valid_q, {valid_q[Latency-2:0], valid_i}, '0)
  assign valid_o = valid_q[Latency-1];

endmodule
