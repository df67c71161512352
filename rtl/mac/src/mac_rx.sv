// Receives frames from GMII at 125 MHz: checks lengths and FCS, removes preamble and FCS.
//
// The stream has no back-pressure. A frame that is not correct has `bad_o` set at its last byte, so that a frame_fifo
// drops it. One longer than MaxBytes is cut there, and the rest of it is ignored; a frame of up to FcsBytes bytes has
// no byte in the stream. `status_valid_o` reports the end of each frame once, with its status.
//
// A byte leaves five cycles after it arrives: only then is it known not to be part of the FCS.

`include "assertions.svh"
`include "registers.svh"

module mac_rx
  import mac_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_ni,
    // GMII.
    input  logic       [7:0] rxd_i,
    input  logic             rx_dv_i,
    input  logic             rx_er_i,
    output logic             valid_o,
    output logic       [7:0] data_o,
    output logic             last_o,
    output logic             bad_o,
    output logic             status_valid_o,
    output rx_status_e       status_o
);
  localparam int unsigned CountWidth = $clog2(MaxBytes + 2);
  typedef logic [CountWidth-1:0] count_t;

  typedef enum logic [1:0] {
    Idle,
    // Within the preamble.
    Starting,
    Receiving,
    // The frame's status is reported; the carrier is still there.
    Ignoring
  } state_e;
  state_e state_q, state_d;
  count_t count_q;
  logic [31:0] crc_q, crc;
  logic error_q, takes, ends, fails;
  // The last bytes, the oldest highest.
  logic [FcsBytes:0][7:0] bytes_q;

  crc32 u_crc (
      .crc_i (crc_q),
      .data_i(rxd_i),
      .crc_o (crc)
  );

  // The frame that is received now has a byte too many.
  logic too_long;
  assign too_long = count_q == count_t'(MaxBytes);

  always_comb begin
    state_d = state_q;
    takes = 1'b0;
    // A frame's data ends, or its start fails.
    ends = 1'b0;
    fails = 1'b0;
    unique case (state_q)
      Idle, Starting: begin
        if (!rx_dv_i) begin
          state_d = Idle;
          fails = state_q == Starting;
        end else if (!rx_er_i && rxd_i == StartOfFrame) begin
          state_d = Receiving;
        end else if (!rx_er_i && rxd_i == Preamble) begin
          state_d = Starting;
        end else begin
          state_d = Ignoring;
          fails = 1'b1;
        end
      end
      Receiving: begin
        if (!rx_dv_i) begin
          state_d = Idle;
          ends = 1'b1;
        end else if (too_long) begin
          state_d = Ignoring;
          ends = 1'b1;
        end else begin
          takes = 1'b1;
        end
      end
      default: if (!rx_dv_i) state_d = Idle;
    endcase
  end

  `FF(state_q, state_d, Idle)
  `FFNE(bytes_q, {bytes_q[FcsBytes-1:0], rxd_i}, takes)
  `FFN(crc_q, state_q != Receiving ? '1 : takes ? crc : crc_q)
  `FFN(error_q, state_q == Receiving && (error_q || (rx_dv_i && rx_er_i)))
  `FF(count_q, state_q != Receiving ? '0 : count_q + count_t'(takes), '0)

  rx_status_e status;
  always_comb begin
    status = RxGood;
    // The first cause that applies.
    if (fails) status = RxNoStart;
    else if (error_q || (rx_dv_i && rx_er_i)) status = RxError;
    else if (rx_dv_i) status = RxJabber;
    else if (count_q < count_t'(MinBytes)) status = RxRunt;
    else if (crc_q != Residue) status = RxBadFcs;
  end

  // Has a byte before the FCS, which leaves with the next byte, or as the last one.
  logic holds_byte;
  assign holds_byte = count_q > count_t'(FcsBytes);
  `FF(valid_o, holds_byte && (takes || ends), 1'b0)
  `FF(status_valid_o, ends || fails, 1'b0)
  `FFN(data_o, bytes_q[FcsBytes])
  `FFN(last_o, ends)
  `FFN(bad_o, ends && status != RxGood)
  `FFN(status_o, status)

  `ASSERT(length_is_limited, count_q <= count_t'(MaxBytes))
  `ASSERT(only_the_last_is_bad, !(valid_o && bad_o) || last_o)
  `ASSERT(good_frames_have_data, !(status_valid_o && status_o == RxGood) || (valid_o && last_o && !bad_o))
endmodule
