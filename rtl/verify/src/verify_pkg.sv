// Structure and latency of the verification engines' multiplier.

package verify_pkg;

  // Factors of up to LeafWidth bits are multiplied by limbs. A limb is the unsigned width that the multipliers of all
  // families support: 17 of the 18 bits of the smaller port of a DSP48E2, and of an ECP5's MULT18X18D.
  localparam int unsigned Limb = 17;
  localparam int unsigned LeafWidth = 3 * Limb;

  function automatic int unsigned limbs(input int unsigned width);
    return (width + Limb - 1) / Limb;
  endfunction

  // Width of half a factor, or of the sum of both halves.
  function automatic int unsigned half_width(input int unsigned width);
    return (width + 1) / 2 + 1;
  endfunction

  // Width of factors after `level` levels of Karatsuba.
  function automatic int unsigned part_width(input int unsigned width, input int unsigned level);
    int unsigned part;
    part = width;
    for (int unsigned each = 0; each < level; each++) part = half_width(part);
    return part;
  endfunction

  function automatic int unsigned multiply_levels(input int unsigned width);
    int unsigned levels;
    levels = 0;
    for (int unsigned each = 0; each < 8; each++) begin
      if (part_width(width, each) > LeafWidth) levels = each + 1;
    end
    return levels;
  endfunction

  // Whether an interval is supported: 1, or a power of 3 with a level for each 3.
  function automatic bit multiply_interval(input int unsigned width, input int unsigned interval);
    int unsigned power;
    bit found;
    power = 1;
    found = 0;
    for (int unsigned level = 0; level <= multiply_levels(width); level++) begin
      found = found || interval == power;
      power = 3 * power;
    end
    return found;
  endfunction

  // Cycles between two products of one part.
  function automatic int unsigned part_interval(input int unsigned interval, input int unsigned level);
    int unsigned each;
    each = interval;
    for (int unsigned at = 0; at < level; at++) each = each > 1 ? each / 3 : 1;
    return each;
  endfunction

  // Number of parts, each with its own multiplier.
  function automatic int unsigned part_count(input int unsigned interval, input int unsigned level);
    int unsigned count;
    count = 1;
    for (int unsigned at = 0; at < level; at++) begin
      if (part_interval(interval, at) == 1) count = 3 * count;
    end
    return count;
  endfunction

  // Latency of a part, from factors to product.
  function automatic int unsigned part_latency(input int unsigned width, input int unsigned interval,
                                               input int unsigned level);
    int unsigned cycles;
    cycles = limbs(part_width(width, multiply_levels(width)));
    for (int unsigned at = level; at < multiply_levels(width); at++) begin
      cycles = cycles + 3;
      if (part_interval(interval, at) > 1) cycles = cycles + 2 * part_interval(interval, at + 1);
    end
    return cycles;
  endfunction

  // Latency of `multiply`, from factors to product.
  function automatic int unsigned multiply_latency(input int unsigned width, input int unsigned interval);
    return part_latency(width, interval, 0);
  endfunction

  // Latency of `montgomery`, from factors to product.
  function automatic int unsigned montgomery_latency(input int unsigned width, input int unsigned interval);
    return 3 * multiply_latency(width, interval) + 2;
  endfunction

  // Prime of BLS12-381, and its negative inverse modulo 2^381.
  localparam logic [380:0] Bls12Prime =
      381'h1a0111ea397fe69a_4b1ba7b6434bacd7_64774b84f38512bf_6730d2a0f6b0f624_1eabfffeb153ffff_b9feffffffffaaab;
  localparam logic [380:0] Bls12Inverse =
      381'h0eb06106feaafc94_68b316fee268cf58_19ecca0e8eb2db4c_16ef2ef0c8e30b48_286adb92d9d113e8_89f3fffcfffcfffd;

endpackage
