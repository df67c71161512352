// Types shared by the parts of the BLS12-381 coprocessor: numbers, results in flight, a slot of the micro-program.

package bls12_381_coprocessor_pkg;

  localparam int unsigned Width = 381;
  typedef logic [Width-1:0] number_t;

  // Order of the groups.
  localparam number_t Order = 381'h73eda753299d7d48_3339d80809a1d805_53bda402fffe5bfe_ffffffff00000001;
  // Absolute value of the curve's parameter.
  localparam logic [63:0] Parameter = 64'hd201000000010000;

  // Contexts of the engine. With eight, a sum is ready for the next turn and a product for the sixth.
  localparam int unsigned Contexts = 8;
  typedef logic [2:0] context_t;

  // An instruction for the engine: entry point of its micro-program; whether a scalar or point makes it trivial;
  // whether a pairing continues after the Miller loop; a scalar and the position of its highest bit that may be set.
  typedef struct packed {
    logic [12:0]  entry;
    logic         pairing;
    logic         trivial;
    logic [7:0]   position;
    logic [255:0] scalar;
  } work_t;

  // Destination of a result in flight; it is dropped if that lies beyond the memory.
  typedef struct packed {
    logic [15:0] base;
    bls12_381_codes_pkg::kind_e kind;
    logic dropped;
  } result_t;

  // Register of a bank: 0 products, 1 and 2 sums, 3 constants or operands.
  typedef struct packed {
    logic [1:0] bank;
    logic [6:0] index;
  } operand_t;
  typedef struct packed {
    operand_t operand;
    logic negate;
    logic [1:0] factor;
  } term_t;
  typedef struct packed {
    logic write;
    logic [6:0] index;
    term_t [3:0] term;
  } linear_t;
  // One register, or two and the sign of the second: 0 none, 1 plus, 2 minus.
  typedef struct packed {
    operand_t [1:0] operand;
    logic [1:0] second;
  } factor_t;

  typedef struct packed {
    logic mul_write;
    logic mul_store;
    logic [6:0] mul_register;
    factor_t [1:0] factor;
    linear_t [1:0] linear;
    logic test;
    logic [2:0] flag;
    logic invert;
    bls12_381_program_pkg::then_e next;
    logic [9:0] mask;
    logic [12:0] target;
  } slot_t;

endpackage
