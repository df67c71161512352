// The codes of the BLS12-381 coprocessor. Made by schema/generate.py of schema/coprocessor.toml; change that.
package bls12_381_codes_pkg;
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
  function automatic logic [3:0] kind_slots(kind_e kind);
    unique case (kind)
      KindScalar: return 4'd1;
      KindFp: return 4'd1;
      KindFp2: return 4'd2;
      KindFp12: return 4'd12;
      KindG1Affine: return 4'd2;
      KindG1Jacobian: return 4'd3;
      KindG2Affine: return 4'd4;
      KindG2Jacobian: return 4'd6;
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
endpackage
