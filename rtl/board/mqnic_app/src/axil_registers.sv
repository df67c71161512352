// AXI4-Lite in front of registers: one access at a time, reads and writes alternate if both wait. The block's registers
// have 13 address bits; the rest of the region is answered with DECERR, and a write of less than a word with SLVERR.

`include "assertions.svh"
`include "registers.svh"

module axil_registers #(
    parameter int unsigned AddressWidth = 24
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    awvalid_i,
    output logic                    awready_o,
    input  logic [AddressWidth-1:0] awaddr_i,
    input  logic                    wvalid_i,
    output logic                    wready_o,
    input  logic [            31:0] wdata_i,
    input  logic [             3:0] wstrb_i,
    output logic                    bvalid_o,
    input  logic                    bready_i,
    output logic [             1:0] bresp_o,
    input  logic                    arvalid_i,
    output logic                    arready_o,
    input  logic [AddressWidth-1:0] araddr_i,
    output logic                    rvalid_o,
    input  logic                    rready_i,
    output logic [            31:0] rdata_o,
    output logic [             1:0] rresp_o,
    // An access is never refused; read data follow in the next cycle.
    output logic                    access_valid_o,
    output logic                    access_write_o,
    output logic [            15:0] access_address_o,
    output logic [            31:0] access_data_o,
    input  logic [            31:0] read_data_i
);
  `PARAMETER_CHECK(address, AddressWidth >= 16, "axil_registers: AddressWidth must be at least 16")

  // Of the NIC's registers below 0x1000 and the block's above.
  localparam int unsigned RegisterAddressWidth = 13;

  typedef enum logic [1:0] {
    Okay   = 2'd0,
    SlvErr = 2'd2,
    DecErr = 2'd3
  } response_e;
  typedef enum logic [1:0] {
    Idle,
    Accessing,
    Fetching,
    Responding
  } state_e;
  state_e state_q, state_d;
  response_e response_q, response_d;

  logic takes_write, takes_read, takes, is_write_q, is_outside;
  logic [AddressWidth-1:0] address;
  assign takes_write = state_q == Idle && awvalid_i && wvalid_i && !(arvalid_i && is_write_q);
  assign takes_read = state_q == Idle && arvalid_i && !takes_write;
  assign takes = takes_write || takes_read;
  assign awready_o = takes_write;
  assign wready_o = takes_write;
  assign arready_o = takes_read;
  assign address = takes_write ? awaddr_i : araddr_i;
  assign is_outside = address[AddressWidth-1:RegisterAddressWidth] != '0;
  always_comb begin
    response_d = Okay;
    if (is_outside) response_d = DecErr;
    else if (takes_write && wstrb_i != '1) response_d = SlvErr;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (takes) state_d = response_d == Okay ? Accessing : Responding;
      Accessing: state_d = Fetching;
      Fetching: state_d = Responding;
      default: if (is_write_q ? bready_i : rready_i) state_d = Idle;
    endcase
  end
  `FF(state_q, state_d, Idle)
  `FFE(is_write_q, takes_write, takes, 1'b0)
  `FFNE(response_q, response_d, takes)
  `FFNE(access_address_o, {3'd0, address[RegisterAddressWidth-1:0]}, takes)
  `FFNE(access_data_o, wdata_i, takes)
  // What an access that is refused reads.
  `FFNE(rdata_o, takes ? '0 : read_data_i, takes || state_q == Fetching)

  assign access_valid_o = state_q == Accessing;
  assign access_write_o = is_write_q;
  assign bvalid_o = state_q == Responding && is_write_q;
  assign rvalid_o = state_q == Responding && !is_write_q;
  assign bresp_o = response_q;
  assign rresp_o = response_q;
endmodule
