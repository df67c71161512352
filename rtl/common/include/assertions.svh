// Assertions of all libraries. Each takes a name, under which it is reported, and uses the module's `clk_i` and `rst_ni`.

`ifndef TURNPIKE_ASSERTIONS_SVH
`define TURNPIKE_ASSERTIONS_SVH

// ASSERT: what a module promises; checked in every simulation, proved where there is a proof.
// ASSUME: what it asks of its surroundings; an assertion in simulation, an assumption in a proof.
// COVER: what has to be able to happen in a proof, so that it is not one of nothing. With COVERED instead of assertions: that it never
// happens, of which the solver has to find the contrary.
`ifdef COVERED
`define ASSERT(name, condition)
`define COVER(name, condition)      \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assert (!(condition)); \
    end                             \
  end
`define ASSUME(name, condition)     \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assume (condition);    \
    end                             \
  end
`elsif FORMAL
`define COVER(name, condition)
`define ASSERT(name, condition)     \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assert (condition);    \
    end                             \
  end
`define ASSUME(name, condition)     \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assume (condition);    \
    end                             \
  end
`elsif SYNTHESIS
`define COVER(name, condition)
`define ASSERT(name, condition)
`define ASSUME(name, condition)
`else
`define COVER(name, condition)
`define ASSERT(name, condition)     \
  always_ff @(posedge clk_i) begin  \
    if (rst_ni) begin               \
      name : assert (condition);    \
    end                             \
  end
`define ASSUME(name, condition) `ASSERT(name, condition)
`endif

// For the top of a proof: it begins with one cycle of reset. Registers of a proof begin as zeros, so that this one can tell the cycle.
`define PROOF_RESET               \
  logic begun_q;                  \
  always_ff @(posedge clk_i) begin  \
    begun_q <= 1'b1;              \
  end                             \
  always_comb begin               \
    proof_begins_with_reset : assume (rst_ni == begun_q);  \
  end

// Stops elaboration with a message where a parameter is illegal.
`define PARAMETER_CHECK(name, condition, message)  \
  if (!(condition)) begin : gen_illegal_``name     \
    $fatal(1, message);                            \
  end

// The same where what is in a package is not what the module knows of it: no parameter makes that so.
`define CONSTANT_CHECK(name, condition, message)  \
  if (!(condition)) begin : gen_unknown_``name    \
    $fatal(1, message);                           \
  end

`endif
