// Micro-program of the BLS12-381 bucket adder. In one turn a context begins a product and a sum that may use this
// product.

package bls12_381_buckets_pkg;

  // Sources: the bucket's point, the added point, M (written by products), L (written by sums).
  typedef enum logic [2:0] {
    FromNothing,
    FromBucketX,
    FromBucketY,
    FromBucketZ,
    FromPointX,
    FromPointY,
    FromM,
    FromL
  } source_e;

  // Destination of a result.
  typedef enum logic [2:0] {
    ToNothing,
    ToBucketX,
    ToBucketY,
    ToBucketZ,
    ToM,
    ToL
  } target_e;

  typedef enum logic [4:0] {
    Idle,
    // Mixed addition in Jacobian coordinates of a point to a bucket that holds one: 8 products and 3 squares.
    Add1,
    Add2,
    Add3,
    Add4,
    Add5,
    Add6,
    Add7,
    Add8,
    Add9,
    Add10,
    Add11,
    // Both have the same x: either the same point, which is doubled, or its negative, which empties the bucket.
    Same1,
    Same2,
    Double1,
    Double2,
    Double3,
    Double4,
    Double5,
    Double6,
    Double7,
    // Loads an empty bucket. The last turn does not read the point, because the next point arrives in it.
    Load1,
    Load2,
    Load3
  } step_e;

  localparam logic [1:0] A = 2'd0, B = 2'd1, C = 2'd2, D = 2'd3;
  localparam logic [1:0] H = 2'd0, R = 2'd1, K = 2'd2;

  typedef struct packed {
    // Product: without a source it is one, in Montgomery form.
    source_e a;
    source_e b;
    logic [1:0] a_number;
    logic [1:0] b_number;
    target_e product;
    logic [1:0] product_number;
    // Sum: x is the product or, if not, M.
    target_e sum;
    logic [1:0] sum_number;
    logic x_is_product;
    logic [1:0] x_number;
    logic x_double;
    // Negated if the point is.
    logic x_signed;
    source_e y;
    logic [1:0] y_number;
    logic y_is_product;
    logic y_double;
    logic y_negate;
    logic half;
  } instruction_t;

  function automatic instruction_t multiplied(input source_e a, input logic [1:0] a_number, input source_e b,
                                              input logic [1:0] b_number, input target_e product,
                                              input logic [1:0] product_number);
    instruction_t made;
    made = '0;
    made.a = a;
    made.a_number = a_number;
    made.b = b;
    made.b_number = b_number;
    made.product = product;
    made.product_number = product_number;
    made.x_is_product = 1'b1;
    return made;
  endfunction

  function automatic instruction_t instruction(input step_e step);
    instruction_t made;
    made = '0;
    unique case (step)
      Add1: made = multiplied(FromBucketZ, A, FromBucketZ, A, ToM, A);
      Add2: begin  // H
        made = multiplied(FromM, A, FromPointX, A, ToNothing, A);
        {made.sum, made.sum_number, made.y, made.y_negate} = {ToL, H, FromBucketX, 1'b1};
      end
      Add3: made = multiplied(FromBucketZ, A, FromM, A, ToM, B);
      Add4, Same1: begin  // R
        made = multiplied(FromM, B, FromPointY, A, ToNothing, A);
        {made.sum, made.sum_number, made.y, made.y_negate, made.x_signed} = {ToL, R, FromBucketY, 1'b1, 1'b1};
      end
      Add5: made = multiplied(FromL, H, FromL, H, ToM, A);
      Add6: made = multiplied(FromL, H, FromM, A, ToM, B);
      Add7: begin  // V, 2 V + H^3
        made = multiplied(FromBucketX, A, FromM, A, ToM, C);
        {made.sum, made.sum_number, made.x_double, made.y, made.y_number} = {ToL, K, 1'b1, FromM, B};
      end
      Add8: begin  // X
        made = multiplied(FromL, R, FromL, R, ToNothing, A);
        {made.sum, made.y, made.y_number, made.y_negate} = {ToBucketX, FromL, K, 1'b1};
      end
      Add9: begin  // Z, V - X
        made = multiplied(FromBucketZ, A, FromL, H, ToBucketZ, A);
        {made.sum, made.sum_number, made.x_is_product, made.x_number} = {ToL, K, 1'b0, C};
        {made.y, made.y_negate} = {FromBucketX, 1'b1};
      end
      Add10: made = multiplied(FromBucketY, A, FromM, B, ToM, D);
      Add11: begin  // Y
        made = multiplied(FromL, R, FromL, K, ToNothing, A);
        {made.sum, made.y, made.y_number, made.y_negate} = {ToBucketY, FromM, D, 1'b1};
      end
      Double1: begin  // 3 X^2 / 2
        made = multiplied(FromBucketX, A, FromBucketX, A, ToNothing, A);
        {made.sum, made.sum_number, made.y_is_product, made.y_double, made.half} = {ToL, K, 1'b1, 1'b1, 1'b1};
      end
      Double2: made = multiplied(FromBucketY, A, FromBucketY, A, ToM, A);
      Double3: made = multiplied(FromBucketX, A, FromM, A, ToM, B);
      Double4: begin  // X
        made = multiplied(FromL, K, FromL, K, ToNothing, A);
        {made.sum, made.y, made.y_number, made.y_double, made.y_negate} = {ToBucketX, FromM, B, 1'b1, 1'b1};
      end
      Double5: begin  // Z, X Y^2 - X'
        made = multiplied(FromBucketY, A, FromBucketZ, A, ToBucketZ, A);
        {made.sum, made.sum_number, made.x_is_product, made.x_number} = {ToL, R, 1'b0, B};
        {made.y, made.y_negate} = {FromBucketX, 1'b1};
      end
      Double6: made = multiplied(FromM, A, FromM, A, ToM, C);
      Double7: begin  // Y
        made = multiplied(FromL, R, FromL, K, ToNothing, A);
        {made.sum, made.y, made.y_number, made.y_negate} = {ToBucketY, FromM, C, 1'b1};
      end
      Load1: begin
        made = multiplied(FromNothing, A, FromPointX, A, ToNothing, A);
        made.sum = ToBucketX;
      end
      Load2: begin
        made = multiplied(FromNothing, A, FromPointY, A, ToNothing, A);
        {made.sum, made.x_signed} = {ToBucketY, 1'b1};
      end
      Load3: made = multiplied(FromNothing, A, FromNothing, A, ToBucketZ, A);
      default: ;
    endcase
    return made;
  endfunction

endpackage
