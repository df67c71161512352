// Reads and writes registers for a person or a script at a serial line:
//
//   0014<newline>            reads the register at 0x0014
//   0014=0a000001<newline>   writes it
//
// Each line is answered by the eight digits of the value and a newline, an illegal one by "?" and a newline. Digits are
// hexadecimal. What arrives before the answer's end is ignored.

`include "registers.svh"

module register_console (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        rx_valid_i,
    input  logic [ 7:0] rx_data_i,
    output logic        tx_valid_o,
    input  logic        tx_ready_i,
    output logic [ 7:0] tx_data_o,
    // An access is accepted in the cycle in which both are set; read data follow in the next one.
    output logic        valid_o,
    input  logic        ready_i,
    output logic        write_o,
    output logic [15:0] address_o,
    output logic [31:0] write_data_o,
    input  logic [31:0] read_data_i
);
  localparam logic [7:0] Newline = 8'h0a;
  localparam logic [7:0] CarriageReturn = 8'h0d;

  typedef enum logic [1:0] {
    Gathering,
    Accessing,
    Fetching,
    Replying
  } state_e;
  state_e state_q, state_d;
  logic [31:0] value_q;
  logic [15:0] address_q;
  logic write_q, illegal_q;
  // Digits of this number so far; characters of the answer left, the newline included.
  logic [3:0] digits_q, left_q;

  logic is_digit, is_equals, is_end, is_illegal;
  logic [3:0] digit;
  always_comb begin
    is_digit = 1'b1;
    digit = rx_data_i[3:0];
    if (rx_data_i inside {["a" : "f"], ["A" : "F"]}) digit = rx_data_i[3:0] + 4'd9;
    else is_digit = rx_data_i inside {["0" : "9"]};
  end
  assign is_equals = rx_data_i == "=";
  assign is_end = rx_data_i == Newline;
  // Four digits of an address, then up to eight of a value.
  always_comb begin
    is_illegal = !is_digit && !is_equals && !is_end && rx_data_i != CarriageReturn;
    if (is_digit) is_illegal = digits_q == (write_q ? 4'd8 : 4'd4);
    if (is_equals) is_illegal = write_q || digits_q == '0;
    if (is_end) is_illegal = digits_q == '0;
  end

  logic gathers, sends;
  assign gathers = state_q == Gathering && rx_valid_i;
  assign sends   = tx_valid_o && tx_ready_i;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Gathering: if (rx_valid_i && is_end) state_d = illegal_q || is_illegal ? Replying : Accessing;
      Accessing: if (ready_i) state_d = Fetching;
      Fetching:  state_d = Replying;
      default:   if (sends && left_q == 4'd1) state_d = Gathering;
    endcase
  end
  `FF(state_q, state_d, Gathering)

  logic ends;
  assign ends = state_q == Replying && state_d == Gathering;
  `FF(illegal_q, !ends && (illegal_q || (gathers && is_illegal)), 1'b0)
  `FF(write_q, !ends && (write_q || (gathers && is_equals && digits_q != '0)), 1'b0)
  `FFE(digits_q, is_digit && !ends && !is_illegal ? digits_q + 4'd1 : '0, ends || (gathers && (is_digit || is_equals)),
       '0)
  `FFE(address_q, {address_q[11:0], digit}, gathers && is_digit && !write_q, '0)
  always_ff @(posedge clk_i) begin
    if (ends) value_q <= '0;
    else if (gathers && is_digit && write_q) value_q <= {value_q[27:0], digit};
    else if (state_q == Fetching && !write_q) value_q <= read_data_i;
    else if (sends) value_q <= {value_q[27:0], 4'd0};
  end
  `FFE(left_q, state_q == Replying ? left_q - 4'd1 : state_q == Fetching ? 4'd9 : 4'd2, state_q != Replying || sends,
       '0)

  assign valid_o = state_q == Accessing;
  assign write_o = write_q;
  assign address_o = address_q;
  assign write_data_o = value_q;
  assign tx_valid_o = state_q == Replying;
  always_comb begin
    tx_data_o = value_q[31:28] < 4'd10 ? "0" + 8'(value_q[31:28]) : "a" - 8'd10 + 8'(value_q[31:28]);
    if (illegal_q) tx_data_o = "?";
    if (left_q == 4'd1) tx_data_o = Newline;
  end
endmodule
