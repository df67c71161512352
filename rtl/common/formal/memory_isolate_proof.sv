// Proof of memory_isolate for any behaviour and any reset of its user: a request to the memory stays until it is
// accepted, no request passes that the user did not make while running, and quiet_o is set exactly when every request
// that entered has been answered.

`include "assertions.svh"

module memory_isolate_proof #(
    parameter int unsigned ReadWidth = 2,
    parameter int unsigned WriteWidth = 2
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic                  run_i,
    input logic                  read_valid_i,
    input logic [ ReadWidth-1:0] read_i,
    input logic                  write_valid_i,
    input logic [WriteWidth-1:0] write_i,
    input logic                  read_ready_i,
    input logic                  answered_i,
    input logic                  write_ready_i,
    input logic                  written_i
);
  `PROOF_RESET

  logic quiet_o, read_ready_o, write_ready_o, read_valid_o, write_valid_o;
  logic [ReadWidth-1:0] read_o;
  logic [WriteWidth-1:0] write_o;
  memory_isolate #(
      .ReadWidth (ReadWidth),
      .WriteWidth(WriteWidth),
      .Most      (3)
  ) u_isolate (
      .*
  );

  // Requests that entered and are unanswered; those among them that the memory has not accepted.
  logic [7:0] reads_q, writes_q, reads_inside_q, writes_inside_q;
  logic read_waits_q, write_waits_q;
  logic [ReadWidth-1:0] read_q;
  logic [WriteWidth-1:0] write_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {reads_q, writes_q, reads_inside_q, writes_inside_q} <= '0;
      {read_waits_q, write_waits_q} <= '0;
    end else begin
      reads_q <= reads_q + 8'(run_i && read_valid_i && read_ready_o) - 8'(answered_i);
      writes_q <= writes_q + 8'(run_i && write_valid_i && write_ready_o) - 8'(written_i);
      reads_inside_q <= reads_inside_q + 8'(run_i && read_valid_i && read_ready_o) - 8'(read_valid_o && read_ready_i);
      writes_inside_q <= writes_inside_q + 8'(run_i && write_valid_i && write_ready_o) -
          8'(write_valid_o && write_ready_i);
      read_waits_q <= read_valid_o && !read_ready_i;
      read_q <= read_o;
      write_waits_q <= write_valid_o && !write_ready_i;
      write_q <= write_o;
    end
  end
  `ASSERT(a_read_stays, !read_waits_q || (read_valid_o && read_o == read_q))
  `ASSERT(a_write_stays, !write_waits_q || (write_valid_o && write_o == write_q))
  `ASSERT(reads_are_those_asked, reads_inside_q == 8'(read_valid_o) + 8'(u_isolate.u_read.waiting_q))
  `ASSERT(writes_are_those_asked, writes_inside_q == 8'(write_valid_o) + 8'(u_isolate.u_write.waiting_q))
  `ASSERT(waiting_is_second, (!u_isolate.u_read.waiting_q || read_valid_o) && (!u_isolate.u_write.waiting_q || write_valid_o))
  `ASSERT(reads_are_counted, reads_q == reads_inside_q + 8'(u_isolate.reads_q))
  `ASSERT(writes_are_counted, writes_q == writes_inside_q + 8'(u_isolate.writes_q))
  `COVER(requests_wait, u_isolate.u_read.waiting_q && u_isolate.u_write.waiting_q)
  `COVER(the_last_is_answered, reads_q == 8'd1 && answered_i && writes_q == '0 && !run_i)
  `ASSERT(quiet_is_nothing_under_way, quiet_o == (reads_q == '0 && writes_q == '0))
endmodule
