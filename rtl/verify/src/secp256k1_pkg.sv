// Numbers, types and records of the secp256k1 engine, and the latencies of its units.

package secp256k1_pkg;

  // The field's prime, 2^256 - 2^32 - 977, and the order of the group; their differences to 2^256.
  localparam logic [255:0] Prime = 256'hfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f;
  localparam logic [255:0] Order = 256'hfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
  localparam logic [255:0] HalfOrder = 256'h7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;
  localparam logic [32:0] PrimeLack = 33'h1_0000_03d1;
  localparam logic [128:0] OrderLack = 129'h1_4551231950b75fc4402da1732fc9bebf;

  // Part of a product.
  typedef enum logic [1:0] {
    TakeModular = 2'd0,  // modulo the prime
    TakeLow     = 2'd1,  // the 256 lowest bits
    TakeHigh    = 2'd2,  // the bits above those
    TakeTop     = 2'd3   // the 128 highest bits
  } take_e;

  typedef enum logic [1:0] {
    ModulusPrime = 2'd0,
    ModulusOrder = 2'd1,
    ModulusNone  = 2'd2   // 2^256
  } modulus_e;

  typedef enum logic [1:0] {
    SignPlus  = 2'd0,
    SignMinus = 2'd1,
    SignDigit = 2'd2
  } sign_e;

  localparam int unsigned ReduceLatency = 8;
  localparam int unsigned LinearLatency = 5;
  localparam int unsigned ProductLatency = 1 + ReduceLatency + verify_pkg::multiply_latency(256, 1);

  // Signature as in the verify frame. For Schnorr signatures e is the challenge, any 256 bits, and the key is x alone.
  typedef struct packed {
    logic schnorr;
    logic low_s;            // ECDSA: reject a high s
    logic key_long;         // 65 bytes, not 33
    logic [7:0] key_form;   // first byte of the key
    logic [255:0] r;
    logic [255:0] s;
    logic [255:0] e;
    logic [255:0] x;
    logic [255:0] y;
  } signature_t;

  // The same, with its numbers in range.
  typedef struct packed {
    logic schnorr;
    logic has_y;
    logic odd;     // required y: of the key, or of a Schnorr signature's nonce, always even
    logic wraps;   // r + n is also below the prime
    logic [255:0] r;
    logic [255:0] s;
    logic [255:0] e;
    logic [255:0] x;
    logic [255:0] y;
  } work_t;

endpackage
