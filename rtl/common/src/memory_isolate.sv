// Isolates a memory from its user, which may be reset with requests in flight: an issued request stays until it is
// accepted, and `quiet_o` is set once all have been answered. The user must be held in reset until then, so that it
// never receives an answer to a request from before.
//
// Requests take one more cycle; answers bypass this module. Payloads are address and id for a read, and the whole of a
// write.

`include "assertions.svh"
`include "registers.svh"

module memory_isolate #(
    parameter int unsigned ReadWidth = 16,
    parameter int unsigned WriteWidth = 128,
    // Maximum number of requests accepted and unanswered, for reads and writes separately.
    parameter int unsigned Most = 65535,
    localparam int unsigned CountWidth = $clog2(Most + 1)
) (
    input  logic                  clk_i,
    // The memory's reset, not the user's. `run_i`: the user is out of reset; its outputs are ignored otherwise.
    input  logic                  rst_ni,
    input  logic                  run_i,
    output logic                  quiet_o,
    input  logic                  read_valid_i,
    output logic                  read_ready_o,
    input  logic [ ReadWidth-1:0] read_i,
    input  logic                  write_valid_i,
    output logic                  write_ready_o,
    input  logic [WriteWidth-1:0] write_i,
    // Memory.
    output logic                  read_valid_o,
    input  logic                  read_ready_i,
    output logic [ ReadWidth-1:0] read_o,
    input  logic                  answered_i,
    output logic                  write_valid_o,
    input  logic                  write_ready_i,
    output logic [WriteWidth-1:0] write_o,
    input  logic                  written_i
);
  `PARAMETER_CHECK(most, Most > 0, "memory_isolate: Most must be at least 1")

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
  // A skid that holds a waiting word also has one at its output, so checking the output is enough.
  assign quiet_o = !read_valid_o && !write_valid_o && reads_q == '0 && writes_q == '0;

  `ASSUME(answers_were_asked_for, (!answered_i || reads_q != '0) && (!written_i || writes_q != '0))
  `ASSUME(no_more_than_agreed, (!reads || 32'(reads_q) < Most) && (!writes || 32'(writes_q) < Most))
endmodule
