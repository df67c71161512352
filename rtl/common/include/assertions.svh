// Assertions of all libraries. Each has a name, under which it is reported, and uses the module's `clk_i` and `rst_ni`.

`ifndef TURNPIKE_ASSERTIONS_SVH
`define TURNPIKE_ASSERTIONS_SVH

// ASSERT: a guarantee of the module; checked in every simulation, proved if there is a proof.
// ASSUME: a requirement on its environment; an assertion in simulation, an assumption in a proof.
// COVER: must be reachable in a proof, so that the proof is not vacuous. With COVERED, replaces the assertions by the
// claim that it never happens, which the solver must refute.
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

// For the top of a proof, which begins with one cycle of reset. A proof's registers start at zero, so begun_q marks
// that cycle.
`define PROOF_RESET               \
  logic begun_q;                  \
  always_ff @(posedge clk_i) begin  \
    begun_q <= 1'b1;              \
  end                             \
  always_comb begin               \
    proof_begins_with_reset : assume (rst_ni == begun_q);  \
  end

// Stops elaboration with a message if a parameter is illegal.
`define PARAMETER_CHECK(name, condition, message)  \
  if (!(condition)) begin : gen_illegal_``name     \
    $fatal(1, message);                            \
  end

// The same for a constant of a package that differs from what the module supports, whatever its parameters.
`define CONSTANT_CHECK(name, condition, message)  \
  if (!(condition)) begin : gen_unknown_``name    \
    $fatal(1, message);                           \
  end

`endif
