// A DRAM behind a memory port, for simulation: random latency, answers in any order, all at rest while it refreshes.
//
// A read names its answer with an id, of which each may be under way once. Writes are done in order, and told of once they are;
// a write gives the same word to every lane that it names. Whoever uses the port has to keep apart reads and writes of one address
// that are under way: a real memory may do them in either order, so that is an error here.

`include "assertions.svh"

module dram_model #(
    parameter int unsigned AddrWidth = 10,
    parameter int unsigned IdWidth = 6,
    parameter int unsigned Lanes = 8,
    parameter int unsigned LaneWidth = 64
) (
    input logic clk_i,
    input logic rst_ni,
    // Timing, in cycles: from a request to its answer `least_i` and fewer than `spread_i` more; a refresh of `gap_i` every `refresh_i`.
    input logic [15:0] least_i,
    input logic [15:0] spread_i,
    input logic [15:0] refresh_i,
    input logic [15:0] gap_i,

    input  logic                            read_valid_i,
    output logic                            read_ready_o,
    input  logic [AddrWidth-1:0]            read_addr_i,
    input  logic [  IdWidth-1:0]            read_id_i,
    output logic                            data_valid_o,
    output logic [  IdWidth-1:0]            data_id_o,
    output logic [Lanes-1:0][LaneWidth-1:0] data_o,

    input  logic                 write_valid_i,
    output logic                 write_ready_o,
    input  logic [AddrWidth-1:0] write_addr_i,
    input  logic [    Lanes-1:0] write_lanes_i,
    input  logic [LaneWidth-1:0] write_data_i,
    output logic                 written_o
);
  localparam int unsigned Reads = 2 ** IdWidth;
  localparam int unsigned Rows = 2 ** AddrWidth;
  // Requests that a controller takes before it makes others wait.
  localparam int unsigned Writes = 32;

  typedef struct packed {
    logic [31:0]          due;
    logic [AddrWidth-1:0] addr;
    logic [Lanes-1:0]     lanes;
    logic [LaneWidth-1:0] data;
  } write_t;

  logic [Lanes-1:0][LaneWidth-1:0] rows[Rows];
  logic [Reads-1:0] reading;
  logic [31:0] read_due[Reads];
  logic [AddrWidth-1:0] read_addr[Reads];
  write_t writes[$];
  logic [31:0] now;

  function automatic logic [31:0] due();
    return now + 32'(least_i) + (spread_i == '0 ? '0 : $urandom % 32'(spread_i));
  endfunction

  // Whether the memory works in a cycle, and whether it takes a request: seldom not, where its timing is random.
  function automatic logic works(logic [31:0] cycle);
    return refresh_i == '0 || cycle % 32'(refresh_i) >= 32'(gap_i);
  endfunction
  function automatic logic takes(logic [31:0] cycle);
    return works(cycle) && (spread_i == '0 || $urandom % 10 != 0);
  endfunction

  function automatic logic writes_to(logic [AddrWidth-1:0] addr);
    foreach (writes[i]) if (writes[i].addr == addr) return 1'b1;
    return 1'b0;
  endfunction
  function automatic logic reads_from(logic [AddrWidth-1:0] addr);
    for (int id = 0; id < Reads; id++) if (reading[id] && read_addr[id] == addr) return 1'b1;
    return 1'b0;
  endfunction

  initial foreach (rows[row]) for (int lane = 0; lane < Lanes; lane++) rows[row][lane] = LaneWidth'({8{$urandom}});

  // Not always_ff: requests pass through variables.
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now <= '0;
      reading = '0;
      writes = {};
      {read_ready_o, write_ready_o, data_valid_o, written_o} <= '0;
    end else begin
      if (read_valid_i && read_ready_o) begin
        assert (!reading[read_id_i])
        else $fatal(1, "an id is under way twice");
        assert (!writes_to(read_addr_i))
        else $fatal(1, "a row is read before it is written");
        reading[read_id_i] = 1'b1;
        read_due[read_id_i] = due();
        read_addr[read_id_i] = read_addr_i;
      end
      if (write_valid_i && write_ready_o) begin
        assert (!reads_from(write_addr_i))
        else $fatal(1, "a row is written while it is read");
        writes.push_back('{due: due(), addr: write_addr_i, lanes: write_lanes_i, data: write_data_i});
      end
      data_valid_o <= 1'b0;
      written_o <= 1'b0;
      if (works(now + 1)) begin
        if (reading != '0) begin
          // From anywhere on, so that answers leave in any order.
          automatic int unsigned first = spread_i == '0 ? 0 : $urandom % Reads;
          for (int unsigned at = 0; at < Reads; at++) begin
            automatic logic [IdWidth-1:0] id = IdWidth'(first + at);
            if (reading[id] && read_due[id] <= now + 1) begin
              reading[id] = 1'b0;
              data_valid_o <= 1'b1;
              data_id_o <= id;
              data_o <= rows[read_addr[id]];
              break;
            end
          end
        end
        if (writes.size() != 0 && writes[0].due <= now + 1) begin
          automatic write_t write = writes.pop_front();
          for (int lane = 0; lane < Lanes; lane++) if (write.lanes[lane]) rows[write.addr][lane] = write.data;
          written_o <= 1'b1;
        end
      end
      read_ready_o <= takes(now + 1);
      write_ready_o <= takes(now + 1) && writes.size() < Writes;
      now <= now + 1'b1;
    end
  end
endmodule
