// DRAM at a memory port, for simulation: random latency, answers in any order, no activity during a refresh.
//
// A read carries an id that names its answer; an id may be in flight only once. Writes are done and acknowledged in
// order; a write stores the same word in every selected lane. The user must not have a read and a write of the same
// address in flight at once: a real memory may do them in either order, so the model reports an error. Several ports
// address the same rows, with no ordering between ports.

`include "assertions.svh"

module dram_model #(
    parameter int unsigned Ports = 1,
    parameter int unsigned AddrWidth = 10,
    parameter int unsigned IdWidth = 6,
    parameter int unsigned Lanes = 8,
    parameter int unsigned LaneWidth = 64
) (
    input logic clk_i,
    input logic rst_ni,
    // Timing in cycles. A request is answered after `least_i` cycles plus fewer than `spread_i`; a refresh of `gap_i`
    // comes every `refresh_i`.
    input logic [15:0] least_i,
    input logic [15:0] spread_i,
    input logic [15:0] refresh_i,
    input logic [15:0] gap_i,

    input  logic [Ports-1:0]                                read_valid_i,
    output logic [Ports-1:0]                                read_ready_o,
    input  logic [Ports-1:0][AddrWidth-1:0]                 read_addr_i,
    input  logic [Ports-1:0][  IdWidth-1:0]                 read_id_i,
    output logic [Ports-1:0]                                data_valid_o,
    output logic [Ports-1:0][  IdWidth-1:0]                 data_id_o,
    output logic [Ports-1:0][    Lanes-1:0][LaneWidth-1:0]  data_o,

    input  logic [Ports-1:0]                 write_valid_i,
    output logic [Ports-1:0]                 write_ready_o,
    input  logic [Ports-1:0][AddrWidth-1:0]  write_addr_i,
    input  logic [Ports-1:0][    Lanes-1:0]  write_lanes_i,
    input  logic [Ports-1:0][LaneWidth-1:0]  write_data_i,
    output logic [Ports-1:0]                 written_o
);
  localparam int unsigned Reads = 2 ** IdWidth;
  localparam int unsigned Rows = 2 ** AddrWidth;
  // Requests that a controller accepts before it applies back-pressure.
  localparam int unsigned Writes = 32;

  typedef struct packed {
    logic [31:0]          port;
    logic [31:0]          due;
    logic [AddrWidth-1:0] addr;
    logic [Lanes-1:0]     lanes;
    logic [LaneWidth-1:0] data;
  } write_t;

  logic [Lanes-1:0][LaneWidth-1:0] rows[Rows];
  logic [Ports-1:0][Reads-1:0] reading;
  logic [31:0] read_due[Ports][Reads];
  logic [AddrWidth-1:0] read_addr[Ports][Reads];
  // In order of arrival.
  write_t writes[$];
  logic [31:0] now;

  function automatic logic [31:0] due();
    return now + 32'(least_i) + (spread_i == '0 ? '0 : $urandom % 32'(spread_i));
  endfunction

  // Whether the memory works in a cycle, and whether it accepts a request: rarely not, if its timing is random.
  function automatic logic works(logic [31:0] cycle);
    return refresh_i == '0 || cycle % 32'(refresh_i) >= 32'(gap_i);
  endfunction
  function automatic logic accept(logic [31:0] cycle);
    return works(cycle) && (spread_i == '0 || $urandom % 10 != 0);
  endfunction

  function automatic logic writes_to(logic [AddrWidth-1:0] addr);
    foreach (writes[i]) if (writes[i].addr == addr) return 1'b1;
    return 1'b0;
  endfunction
  // First write of a port; -1 if none.
  function automatic int first_of(int port);
    foreach (writes[i]) if (writes[i].port == 32'(port)) return i;
    return -1;
  endfunction
  function automatic logic reads_from(logic [AddrWidth-1:0] addr);
    for (int port = 0; port < Ports; port++) begin
      for (int id = 0; id < Reads; id++) if (reading[port][id] && read_addr[port][id] == addr) return 1'b1;
    end
    return 1'b0;
  endfunction

  initial foreach (rows[row]) for (int lane = 0; lane < Lanes; lane++) rows[row][lane] = LaneWidth'({8{$urandom}});

  // Not always_ff, because requests pass through variables.
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now <= '0;
      reading = '0;
      writes = {};
      {read_ready_o, write_ready_o, data_valid_o, written_o} <= '0;
    end else begin
      for (int port = 0; port < Ports; port++) begin
        if (read_valid_i[port] && read_ready_o[port]) begin
          assert (!reading[port][read_id_i[port]])
          else $fatal(1, "an id is under way twice");
          assert (!writes_to(read_addr_i[port]))
          else $fatal(1, "a row is read before it is written");
          reading[port][read_id_i[port]] = 1'b1;
          read_due[port][read_id_i[port]] = due();
          read_addr[port][read_id_i[port]] = read_addr_i[port];
        end
        if (write_valid_i[port] && write_ready_o[port]) begin
          assert (!reads_from(write_addr_i[port]))
          else $fatal(1, "a row is written while it is read");
          writes.push_back('{port: 32'(port), due: due(), addr: write_addr_i[port], lanes: write_lanes_i[port],
                           data: write_data_i[port]});
        end
      end
      data_valid_o <= '0;
      written_o <= '0;
      for (int port = 0; port < Ports; port++) begin
        if (works(now + 1)) begin
          automatic int oldest = first_of(port);
          if (reading[port] != '0) begin
            // Start anywhere, so that answers leave in any order.
            automatic int unsigned first = spread_i == '0 ? 0 : $urandom % Reads;
            for (int unsigned at = 0; at < Reads; at++) begin
              automatic logic [IdWidth-1:0] id = IdWidth'(first + at);
              if (reading[port][id] && read_due[port][id] <= now + 1) begin
                reading[port][id] = 1'b0;
                data_valid_o[port] <= 1'b1;
                data_id_o[port] <= id;
                data_o[port] <= rows[read_addr[port][id]];
                break;
              end
            end
          end
          if (oldest >= 0 && writes[oldest].due <= now + 1) begin
            automatic write_t write = writes[oldest];
            writes.delete(oldest);
            for (int lane = 0; lane < Lanes; lane++) if (write.lanes[lane]) rows[write.addr][lane] = write.data;
            written_o[port] <= 1'b1;
          end
        end
        read_ready_o[port]  <= accept(now + 1);
        write_ready_o[port] <= accept(now + 1) && writes.size() < Writes * Ports;
      end
      now <= now + 1'b1;
    end
  end
endmodule
