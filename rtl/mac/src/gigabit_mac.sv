// Gigabit MAC between GMII and packet streams of the core's clock. Frames that are not correct, or for which there is
// no room, are dropped; each received frame is counted by its status.
//
//   GMII -> mac_rx -> stream_widen -> frame_fifo -> async_fifo -> stream
//   GMII <- mac_tx <- stream_narrow <- frame_fifo <- async_fifo <- stream
//
// Packets have neither preamble nor FCS. Short ones are padded when they are sent, and keep their padding when
// received.

`include "assertions.svh"
`include "registers.svh"

module gigabit_mac
  import mac_pkg::*;
#(
    parameter  int unsigned DataWidth  = 128,
    // Words of each frame_fifo.
    parameter  int unsigned FrameWords = 512,
    localparam int unsigned KeepWidth  = DataWidth / 8
) (
    // The PHY's receive clock, and the clock of transmission: 125 MHz each.
    input  logic                       rx_clk_i,
    input  logic                       rx_rst_ni,
    input  logic       [          7:0] rxd_i,
    input  logic                       rx_dv_i,
    input  logic                       rx_er_i,
    input  logic                       tx_clk_i,
    input  logic                       tx_rst_ni,
    output logic       [          7:0] txd_o,
    output logic                       tx_en_o,
    // Everything below has the core's clock.
    input  logic                       clk_i,
    input  logic                       rst_ni,
    output logic                       valid_o,
    input  logic                       ready_i,
    output logic       [DataWidth-1:0] data_o,
    output logic       [KeepWidth-1:0] keep_o,
    output logic                       last_o,
    input  logic                       valid_i,
    output logic                       ready_o,
    input  logic       [DataWidth-1:0] data_i,
    input  logic       [KeepWidth-1:0] keep_i,
    input  logic                       last_i,
    // The end of a received frame.
    output logic                       rx_status_valid_o,
    output rx_status_e                 rx_status_o
);
  `PARAMETER_CHECK(frame, FrameWords * KeepWidth >= MaxBytes - FcsBytes,
                   "gigabit_mac: FrameWords must be enough for the longest frame")
  localparam int unsigned WordWidth = DataWidth + KeepWidth + 1;

  ////////////////////////////////////////////////////////////////////////
  // Receive.

  logic received_valid, received_last, received_bad, ended;
  logic [7:0] received;
  rx_status_e end_status;
  mac_rx u_rx (
      .clk_i         (rx_clk_i),
      .rst_ni        (rx_rst_ni),
      .rxd_i,
      .rx_dv_i,
      .rx_er_i,
      .valid_o       (received_valid),
      .data_o        (received),
      .last_o        (received_last),
      .bad_o         (received_bad),
      .status_valid_o(ended),
      .status_o      (end_status)
  );

  logic wide_valid, wide_last, wide_bad_q, unused_wide_ready, unused_fifo_ready, dropped;
  logic [DataWidth-1:0] wide_data;
  logic [KeepWidth-1:0] wide_keep;
  // The frame_fifo accepts a word in every cycle.
  stream_widen #(
      .DataWidth(8),
      .WideWidth(DataWidth)
  ) u_widen (
      .clk_i  (rx_clk_i),
      .rst_ni (rx_rst_ni),
      .valid_i(received_valid),
      .ready_o(unused_wide_ready),
      .data_i (received),
      .keep_i (1'b1),
      .last_i (received_last),
      .valid_o(wide_valid),
      .ready_i(1'b1),
      .data_o (wide_data),
      .keep_o (wide_keep),
      .last_o (wide_last)
  );
  // With the frame's last word, which leaves a cycle after its last byte; so does its status.
  logic ended_q;
  rx_status_e end_status_q;
  always_ff @(posedge rx_clk_i or negedge rx_rst_ni) begin
    if (!rx_rst_ni) ended_q <= 1'b0;
    else ended_q <= ended;
  end
  always_ff @(posedge rx_clk_i) begin
    wide_bad_q   <= received_bad;
    end_status_q <= end_status;
  end

  logic whole_valid, whole_ready, whole_last, cross_valid;
  logic [DataWidth-1:0] whole_data;
  logic [KeepWidth-1:0] whole_keep;
  frame_fifo #(
      .DataWidth(DataWidth),
      .Depth    (FrameWords)
  ) u_rx_frames (
      .clk_i    (rx_clk_i),
      .rst_ni   (rx_rst_ni),
      .drop_i   (1'b1),
      .dropped_o(dropped),
      .valid_i  (wide_valid),
      .ready_o  (unused_fifo_ready),
      .data_i   (wide_data),
      .keep_i   (wide_keep),
      .last_i   (wide_last),
      .bad_i    (wide_bad_q),
      .valid_o  (whole_valid),
      .ready_i  (whole_ready),
      .data_o   (whole_data),
      .keep_o   (whole_keep),
      .last_o   (whole_last)
  );
  async_fifo #(
      .Width(WordWidth)
  ) u_rx_cross (
      .write_clk_i (rx_clk_i),
      .write_rst_ni(rx_rst_ni),
      .valid_i     (whole_valid),
      .ready_o     (whole_ready),
      .data_i      ({whole_last, whole_keep, whole_data}),
      .read_clk_i  (clk_i),
      .read_rst_ni (rst_ni),
      .valid_o,
      .ready_i,
      .data_o      ({last_o, keep_o, data_o})
  );

  logic [$bits(rx_status_e)-1:0] status;
  logic unused_status_ready;
  // Statuses come at most every second cycle, when the carrier is a byte long; a core of 62.5 MHz or more reads each in
  // time. At less, such statuses are lost, and no frame: a frame takes 64 cycles.
  async_fifo #(
      .Width($bits(rx_status_e))
  ) u_status_cross (
      .write_clk_i (rx_clk_i),
      .write_rst_ni(rx_rst_ni),
      .valid_i     (ended_q),
      .ready_o     (unused_status_ready),
      .data_i      (dropped ? RxDropped : end_status_q),
      .read_clk_i  (clk_i),
      .read_rst_ni (rst_ni),
      .valid_o     (rx_status_valid_o),
      .ready_i     (1'b1),
      .data_o      (status)
  );
  assign rx_status_o = rx_status_e'(status);

  ////////////////////////////////////////////////////////////////////////
  // Transmit.

  logic cross_ready, cross_last, frame_valid, frame_ready, frame_last, unused_tx_dropped;
  logic [DataWidth-1:0] cross_data, frame_data;
  logic [KeepWidth-1:0] cross_keep, frame_keep;
  async_fifo #(
      .Width(WordWidth)
  ) u_tx_cross (
      .write_clk_i (clk_i),
      .write_rst_ni(rst_ni),
      .valid_i,
      .ready_o,
      .data_i      ({last_i, keep_i, data_i}),
      .read_clk_i  (tx_clk_i),
      .read_rst_ni (tx_rst_ni),
      .valid_o     (cross_valid),
      .ready_i     (cross_ready),
      .data_o      ({cross_last, cross_keep, cross_data})
  );
  frame_fifo #(
      .DataWidth(DataWidth),
      .Depth    (FrameWords)
  ) u_tx_frames (
      .clk_i    (tx_clk_i),
      .rst_ni   (tx_rst_ni),
      .drop_i   (1'b0),
      .dropped_o(unused_tx_dropped),
      .valid_i  (cross_valid),
      .ready_o  (cross_ready),
      .data_i   (cross_data),
      .keep_i   (cross_keep),
      .last_i   (cross_last),
      .bad_i    (1'b0),
      .valid_o  (frame_valid),
      .ready_i  (frame_ready),
      .data_o   (frame_data),
      .keep_o   (frame_keep),
      .last_o   (frame_last)
  );
  logic byte_valid, byte_ready, byte_last, unused_byte_keep;
  logic [7:0] byte_data;
  stream_narrow #(
      .WideWidth(DataWidth),
      .DataWidth(8)
  ) u_narrow (
      .clk_i  (tx_clk_i),
      .rst_ni (tx_rst_ni),
      .valid_i(frame_valid),
      .ready_o(frame_ready),
      .data_i (frame_data),
      .keep_i (frame_keep),
      .last_i (frame_last),
      .valid_o(byte_valid),
      .ready_i(byte_ready),
      .data_o (byte_data),
      .keep_o (unused_byte_keep),
      .last_o (byte_last)
  );
  mac_tx u_tx (
      .clk_i  (tx_clk_i),
      .rst_ni (tx_rst_ni),
      .valid_i(byte_valid),
      .ready_o(byte_ready),
      .data_i (byte_data),
      .last_i (byte_last),
      .txd_o,
      .tx_en_o
  );
endmodule
