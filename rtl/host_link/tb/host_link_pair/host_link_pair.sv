// Two ends of a link; the testbench is the cable between them.
module host_link_pair #(
    parameter int unsigned Segments = 8,
    parameter int unsigned Timeout  = 400,
    parameter int unsigned Depth    = 256
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             open_i,
    input  logic [31:0]      open_session_i,
    output logic [1:0][31:0] session_o,
    input  logic [1:0]       valid_i,
    output logic [1:0]       ready_o,
    input  logic [1:0][127:0] data_i,
    input  logic [1:0][15:0] keep_i,
    input  logic [1:0]       last_i,
    input  logic [1:0][31:0] meta_i,
    output logic [1:0]       valid_o,
    input  logic [1:0]       ready_i,
    output logic [1:0][127:0] data_o,
    output logic [1:0][15:0] keep_o,
    output logic [1:0]       last_o,
    output logic [1:0][31:0] meta_o,
    // The cable: frames from an end, frames to it, and frames that are not of the link.
    output logic [1:0]       tx_valid_o,
    input  logic [1:0]       tx_ready_i,
    output logic [1:0][127:0] tx_data_o,
    output logic [1:0][15:0] tx_keep_o,
    output logic [1:0]       tx_last_o,
    input  logic [1:0]       rx_valid_i,
    output logic [1:0]       rx_ready_o,
    input  logic [1:0][127:0] rx_data_i,
    input  logic [1:0][15:0] rx_keep_i,
    input  logic [1:0]       rx_last_i,
    output logic [1:0]       other_valid_o,
    input  logic [1:0]       other_ready_i,
    output logic [1:0][127:0] other_data_o,
    output logic [1:0][15:0] other_keep_o,
    output logic [1:0]       other_last_o,
    output logic [1:0]       replays_o
);
  for (genvar side = 0; side < 2; side++) begin : gen_end
    localparam logic [47:0] Address = 48'h020000000001 + 48'(side);
    localparam logic [47:0] PeerAddress = 48'h020000000002 - 48'(side);
    logic unused_dropped;
    host_link #(
        .Segments(Segments),
        .Timeout (Timeout),
        .Depth   (Depth)
    ) u_link (
        .clk_i,
        .rst_ni,
        .address_i     (Address),
        .open_i,
        .open_session_i,
        .open_peer_i   (PeerAddress),
        .session_o     (session_o[side]),
        .rx_valid_i    (rx_valid_i[side]),
        .rx_ready_o    (rx_ready_o[side]),
        .rx_data_i     (rx_data_i[side]),
        .rx_keep_i     (rx_keep_i[side]),
        .rx_last_i     (rx_last_i[side]),
        .other_valid_o (other_valid_o[side]),
        .other_ready_i (other_ready_i[side]),
        .other_data_o  (other_data_o[side]),
        .other_keep_o  (other_keep_o[side]),
        .other_last_o  (other_last_o[side]),
        .tx_valid_o    (tx_valid_o[side]),
        .tx_ready_i    (tx_ready_i[side]),
        .tx_data_o     (tx_data_o[side]),
        .tx_keep_o     (tx_keep_o[side]),
        .tx_last_o     (tx_last_o[side]),
        .valid_i       (valid_i[side]),
        .ready_o       (ready_o[side]),
        .data_i        (data_i[side]),
        .keep_i        (keep_i[side]),
        .last_i        (last_i[side]),
        .meta_i        (meta_i[side]),
        .valid_o       (valid_o[side]),
        .ready_i       (ready_i[side]),
        .data_o        (data_o[side]),
        .keep_o        (keep_o[side]),
        .last_o        (last_o[side]),
        .meta_o        (meta_o[side]),
        .dropped_o     (unused_dropped),
        .replays_o     (replays_o[side])
    );
  end
endmodule
