// What the parts of the BLS12-381 coprocessor have in common: types of slots, opcodes and faults of docs/coprocessor.md; a slot of the micro-program.

package bls12_381_coprocessor_pkg;

  localparam int unsigned Width = 381;
  typedef logic [Width-1:0] number_t;

  // The order of the groups.
  localparam number_t Order = 381'h73eda753299d7d48_3339d80809a1d805_53bda402fffe5bfe_ffffffff00000001;
  // The absolute value of the curve's parameter.
  localparam logic [63:0] Parameter = 64'hd201000000010000;

  typedef enum logic [2:0] {
    KindScalar = 3'd0,
    KindFp = 3'd1,
    KindFp2 = 3'd2,
    KindFp12 = 3'd3,
    KindG1Affine = 3'd4,
    KindG1Jacobian = 3'd5,
    KindG2Affine = 3'd6,
    KindG2Jacobian = 3'd7
  } kind_e;

  // Slots of a value.
  function automatic logic [3:0] kind_slots(input kind_e kind);
    unique case (kind)
      KindScalar, KindFp: return 4'd1;
      KindFp2, KindG1Affine: return 4'd2;
      KindG1Jacobian: return 4'd3;
      KindG2Affine: return 4'd4;
      KindG2Jacobian: return 4'd6;
      KindFp12: return 4'd12;
    endcase
  endfunction

  typedef enum logic [7:0] {
    NoopWait = 8'h00,
    CopyReg = 8'h01,
    Jump = 8'h02,
    JumpIfEq = 8'h04,
    JumpNonzeroSub = 8'h05,
    SendInterrupt = 8'h06,
    MulElement = 8'h10,
    AddElement = 8'h11,
    SubElement = 8'h12,
    InvElement = 8'h13,
    PointMult = 8'h20,
    MillerLoop = 8'h21,
    FinalExp = 8'h22,
    AtePairing = 8'h23
  } opcode_e;

  typedef enum logic [2:0] {
    FaultNone = 3'd0,
    FaultOpcode = 3'd1,
    FaultCounter = 3'd2,
    FaultAddress = 3'd3,
    FaultType = 3'd4,
    FaultRange = 3'd5,
    FaultDivision = 3'd6
  } fault_e;

  // Contexts of the engine. With eight, a sum is there for the next turn and a product for the sixth.
  localparam int unsigned Contexts = 8;
  typedef logic [2:0] context_t;

  // An instruction for the engine: where its micro-program begins; whether a scalar or point makes it trivial, whether a pairing goes on after
  // the Miller loop; a scalar and the place of the first bit that may be set.
  typedef struct packed {
    logic [12:0]  entry;
    logic         pairing;
    logic         trivial;
    logic [7:0]   position;
    logic [255:0] scalar;
  } work_t;

  // Where a result goes that is under way; it is dropped where it would lie behind the memory.
  typedef struct packed {
    logic [15:0] base;
    kind_e kind;
    logic dropped;
  } result_t;

  // A register of a bank: 0 products, 1 and 2 sums, 3 constants or operands.
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
