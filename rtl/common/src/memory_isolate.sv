// Between the user of a memory port and the memory, where the user may be reset while requests are under way: a request once made stays until it
// is taken, and `quiet_o` tells that all have been answered. Whoever resets the user has to keep it in reset until then, so that it gets no
// answer to what it did not ask.
//
// Requests take a cycle more, answers none, and go past this. Payloads are an address and an id to read, and whatever a write has.

`include "assertions.svh"
`include "registers.svh"

module memory_isolate #(
    parameter int unsigned ReadWidth = 16,
    parameter int unsigned WriteWidth = 128,
    // The most requests that the memory may have taken and not answered, reads and writes apart.
    parameter int unsigned Most = 65535,
    localparam int unsigned CountWidth = $clog2(Most + 1)
) (
    input  logic                  clk_i,
    // Not the user's reset, but that of the memory; and whether the user is not in its own, in which it may say anything.
    input  logic                  rst_ni,
    input  logic                  run_i,
    output logic                  quiet_o,
    input  logic                  read_valid_i,
    output logic                  read_ready_o,
    input  logic [ ReadWidth-1:0] read_i,
    input  logic                  write_valid_i,
    output logic                  write_ready_o,
    input  logic [WriteWidth-1:0] write_i,
    // The memory.
    output logic                  read_valid_o,
    input  logic                  read_ready_i,
    output logic [ ReadWidth-1:0] read_o,
    input  logic                  answered_i,
    output logic                  write_valid_o,
    input  logic                  write_ready_i,
    output logic [WriteWidth-1:0] write_o,
    input  logic                  written_i
);
  `PARAMETER_CHECK(most, Most > 0, "memory_isolate: Most has to be at least 1")

  typedef logic [CountWidth-1:0] count_t;
  count_t reads_q, writes_q;
  logic reads, writes;
  skid #(
      .Width(ReadWidth)
  ) u_read (
      .clk_i,
      .rst_ni,
      .valid_i(read_valid_i && run_i),
      .ready_o(read_ready_o),
      .data_i (read_i),
      .valid_o(read_valid_o),
      .ready_i(read_ready_i),
      .data_o (read_o)
  );
  skid #(
      .Width(WriteWidth)
  ) u_write (
      .clk_i,
      .rst_ni,
      .valid_i(write_valid_i && run_i),
      .ready_o(write_ready_o),
      .data_i (write_i),
      .valid_o(write_valid_o),
      .ready_i(write_ready_i),
      .data_o (write_o)
  );
  assign reads = read_valid_o && read_ready_i;
  assign writes = write_valid_o && write_ready_i;
  `FFE(reads_q, reads ? reads_q + 1'b1 : reads_q - 1'b1, reads != answered_i, '0)
  `FFE(writes_q, writes ? writes_q + 1'b1 : writes_q - 1'b1, writes != written_i, '0)
  // A word that waits in a skid has another one at its output.
  assign quiet_o = !read_valid_o && !write_valid_o && reads_q == '0 && writes_q == '0;

  `ASSUME(answers_were_asked_for, (!answered_i || reads_q != '0) && (!written_i || writes_q != '0))
  `ASSUME(no_more_than_agreed, (!reads || 32'(reads_q) < Most) && (!writes || 32'(writes_q) < Most))
endmodule
