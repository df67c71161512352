// Registers of all libraries: rising edge of `clk_i`, asynchronous reset by `rst_ni`. Irregular state is written out
// instead.

`ifndef TURNPIKE_REGISTERS_SVH
`define TURNPIKE_REGISTERS_SVH

// Register with a reset value.
`define FF(q, d, reset_value)                      \
  always_ff @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) q <= reset_value;                 \
    else q <= d;                                   \
  end

// The same, loaded only if `enable` is set.
`define FFE(q, d, enable, reset_value)             \
  always_ff @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) q <= reset_value;                 \
    else if (enable) q <= d;                       \
  end

// Payload without reset; the valid bit beside it has one. Saves reset wires on wide data.
`define FFN(q, d)                                  \
  always_ff @(posedge clk_i) begin                 \
    q <= d;                                        \
  end

// The same, loaded only if `enable` is set.
`define FFNE(q, d, enable)                         \
  always_ff @(posedge clk_i) begin                 \
    if (enable) q <= d;                            \
  end

`endif
