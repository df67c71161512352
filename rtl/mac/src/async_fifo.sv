// Queue between two clocks without a known relation. Each side sees its peer's pointer in Gray code, through a
// synchronizer: late, never wrong.
//
// Both resets must be asserted together; either may be released first. Latency: a cycle of the writer, then four of the
// reader; a word per cycle of the slower side from a depth of 16, which covers the round trip of the pointers.

`include "assertions.svh"

module async_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16
) (
    input  logic             write_clk_i,
    input  logic             write_rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    input  logic             read_clk_i,
    input  logic             read_rst_ni,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);
  `PARAMETER_CHECK(width, Width > 0, "async_fifo: Width must be at least 1")
  `PARAMETER_CHECK(depth, Depth >= 4 && Depth == 2 ** $clog2(Depth), "async_fifo: Depth must be a power of two from 4")

  localparam int unsigned AddressWidth = $clog2(Depth);
  // One bit more than an address: equal addresses mean empty or full.
  typedef logic [AddressWidth:0] pointer_t;

  function automatic pointer_t gray(pointer_t number);
    return number ^ (number >> 1);
  endfunction

  pointer_t write_q, write_d, write_gray_q, write_seen, read_q, read_d, read_gray_q, read_seen;
  logic push, pop;

  // Writer. Full: the pointers are a whole turn apart, which in Gray code changes the two highest bits.
  assign ready_o = write_gray_q != {~read_seen[AddressWidth:AddressWidth-1], read_seen[AddressWidth-2:0]};
  assign push = valid_i && ready_o;
  assign write_d = write_q + pointer_t'(1);
  always_ff @(posedge write_clk_i or negedge write_rst_ni) begin
    if (!write_rst_ni) begin
      write_q <= '0;
      write_gray_q <= '0;
    end else if (push) begin
      write_q <= write_d;
      write_gray_q <= gray(write_d);
    end
  end
  synchronizer #(
      .Width(AddressWidth + 1)
  ) u_read_seen (
      .clk_i (write_clk_i),
      .rst_ni(write_rst_ni),
      .data_i(read_gray_q),
      .data_o(read_seen)
  );

  // Reader. A word is in the memory long before its pointer arrives.
  assign pop = read_gray_q != write_seen && (!valid_o || ready_i);
  assign read_d = read_q + pointer_t'(1);
  always_ff @(posedge read_clk_i or negedge read_rst_ni) begin
    if (!read_rst_ni) begin
      read_q <= '0;
      read_gray_q <= '0;
      valid_o <= 1'b0;
    end else begin
      if (pop) begin
        read_q <= read_d;
        read_gray_q <= gray(read_d);
      end
      if (pop || ready_i) valid_o <= pop;
    end
  end
  synchronizer #(
      .Width(AddressWidth + 1)
  ) u_write_seen (
      .clk_i (read_clk_i),
      .rst_ni(read_rst_ni),
      .data_i(write_gray_q),
      .data_o(write_seen)
  );

  ram_two_clocks #(
      .Width(Width),
      .Depth(Depth)
  ) u_memory (
      .write_clk_i,
      .write_i        (push),
      .write_address_i(write_q[AddressWidth-1:0]),
      .write_data_i   (data_i),
      .read_clk_i,
      .read_i         (pop),
      .read_address_i (read_q[AddressWidth-1:0]),
      .read_data_o    (data_o)
  );
endmodule
