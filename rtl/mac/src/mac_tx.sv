// Sends frames to GMII at 125 MHz: adds preamble, padding and FCS, and keeps the minimum gap.
//
// A frame's bytes must follow one another in every cycle once the first one is valid, as from a frame_fifo: GMII cannot
// pause. Frames leave back to back: after the gap the next preamble follows at once. Outputs are registered.

`include "assertions.svh"
`include "registers.svh"

module mac_tx
  import mac_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       valid_i,
    output logic       ready_o,
    input  logic [7:0] data_i,
    input  logic       last_i,
    // GMII.
    output logic [7:0] txd_o,
    output logic       tx_en_o
);
  localparam int unsigned CountWidth = $clog2(MinBytes);
  typedef logic [CountWidth-1:0] count_t;

  typedef enum logic [2:0] {
    Idle,
    Starting,
    Sending,
    Padding,
    Checking,
    Waiting
  } state_e;
  state_e state_q, state_d;
  // Bytes of this state that have left; of a frame's data, up to the minimum.
  count_t count_q, count_d;
  logic [31:0] crc_q, crc;
  logic [7:0] byte_d;
  logic is_data, filled;

  // The frame reaches its minimum without the FCS with this byte.
  assign filled = count_q >= count_t'(MinBytes - FcsBytes - 1);
  assign ready_o = state_q == Sending;
  assign is_data = state_q inside {Sending, Padding};

  crc32 u_crc (
      .crc_i (crc_q),
      .data_i(byte_d),
      .crc_o (crc)
  );

  always_comb begin
    state_d = state_q;
    count_d = count_q + count_t'(1);
    byte_d  = '0;
    unique case (state_q)
      Idle: begin
        count_d = '0;
        if (valid_i) state_d = Starting;
      end
      Starting: begin
        byte_d = count_q == count_t'(PreambleBytes) ? StartOfFrame : Preamble;
        if (count_q == count_t'(PreambleBytes)) begin
          state_d = Sending;
          count_d = '0;
        end
      end
      Sending: begin
        byte_d = data_i;
        if (filled) count_d = count_q;
        if (last_i && filled) begin
          state_d = Checking;
          count_d = '0;
        end else if (last_i) begin
          state_d = Padding;
        end
      end
      Padding: begin
        if (filled) begin
          state_d = Checking;
          count_d = '0;
        end
      end
      Checking: begin
        byte_d = ~crc_q[7:0];
        if (count_q == count_t'(FcsBytes - 1)) begin
          state_d = Waiting;
          count_d = '0;
        end
      end
      default: begin
        // The cycle in Idle is the gap's last one.
        if (count_q == count_t'(GapBytes - 2)) state_d = Idle;
      end
    endcase
  end

  `FF(state_q, state_d, Idle)
  `FF(count_q, count_d, '0)
  `FFN(crc_q, is_data ? crc : state_q == Checking ? crc_q >> 8 : '1)
  `FFN(txd_o, byte_d)
  `FF(tx_en_o, !(state_q inside {Idle, Waiting}), 1'b0)

  `ASSUME(frame_has_no_pause, state_q != Sending || valid_i)
endmodule
