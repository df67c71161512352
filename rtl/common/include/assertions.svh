// Assertions of all libraries. Each takes a name, under which it is reported, and uses the module's `clk_i` and `rst_ni`.

`ifndef TURNPIKE_ASSERTIONS_SVH
`define TURNPIKE_ASSERTIONS_SVH

`ifdef SYNTHESIS
`define ASSERT(name, condition)
`define ASSUME(name, condition)
`else
// What a module promises: checked in every simulation, proved where there is a proof.
`define ASSERT(name, condition)     \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assert (condition);    \
    end                             \
  end

// What a module asks of its surroundings: an assertion in simulation, an assumption in a proof.
`ifdef FORMAL
`define ASSUME(name, condition)     \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assume (condition);    \
    end                             \
  end
`else
`define ASSUME(name, condition) `ASSERT(name, condition)
`endif
`endif

// Stops elaboration with a message where a parameter is illegal.
`define PARAMETER_CHECK(name, condition, message)  \
  if (!(condition)) begin : gen_illegal_``name     \
    $fatal(1, message);                            \
  end

`endif
