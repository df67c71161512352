// Accesses registers for a node on the cable: takes frames with an access out of a stream of correct frames, and
// replies to each sender. All other frames pass unchanged.
//
// One access at a time: a request that arrives before the last reply has left is dropped, and the node repeats it. So a
// register must not notice that it is accessed twice.

`include "registers.svh"

module host_link_registers
  import host_link_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [ 47:0] address_i,
    // Frames without FCS.
    input  logic         valid_i,
    output logic         ready_o,
    input  logic [127:0] data_i,
    input  logic [ 15:0] keep_i,
    input  logic         last_i,
    // Frames of others.
    output logic         other_valid_o,
    input  logic         other_ready_i,
    output logic [127:0] other_data_o,
    output logic [ 15:0] other_keep_o,
    output logic         other_last_o,
    // An access is accepted in the cycle in which both are set; read data follow in the next one.
    output logic         access_valid_o,
    input  logic         access_ready_i,
    output logic         access_write_o,
    output logic [ 15:0] access_address_o,
    output logic [ 31:0] access_data_o,
    output logic [ 47:0] access_source_o,
    input  logic [ 31:0] read_data_i,
    // Replies, without FCS and padding.
    output logic         reply_valid_o,
    input  logic         reply_ready_i,
    output logic [127:0] reply_data_o,
    output logic         reply_last_o
);
  typedef enum logic [1:0] {
    First,
    Request,
    // The rest of a frame: to others, or dropped.
    Rest
  } place_e;
  typedef enum logic [2:0] {
    Idle,
    Accessing,
    Fetching,
    ReplyAddresses,
    ReplyRegister
  } state_e;
  place_e place_q, place_d;
  state_e state_q, state_d;

  address_word_t  addresses;
  register_word_t register_word;
  assign addresses = swap_bytes(data_i);
  assign register_word = swap_bytes(data_i);

  logic is_access, passes, passes_q, enters, accepts;
  assign is_access = addresses.ether_type == EtherType && addresses.magic == RegisterMagic &&
                     (addresses.destination == address_i || addresses.destination == '1);
  assign passes = place_q == First ? !is_access : place_q == Rest && passes_q;
  assign ready_o = !passes || other_ready_i;
  assign enters = valid_i && ready_o;
  assign accepts = enters && place_q == Request && state_q == Idle && &keep_i && !register_word.is_reply;
  assign other_valid_o = valid_i && passes;
  assign other_data_o = data_i;
  assign other_keep_o = keep_i;
  assign other_last_o = last_i;
  always_comb begin
    place_d = place_q;
    unique case (place_q)
      First:   if (!last_i) place_d = is_access ? Request : Rest;
      default: place_d = last_i ? First : Rest;
    endcase
  end
  `FFE(place_q, place_d, enters, First)
  `FFE(passes_q, passes, enters, 1'b0)

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (accepts) state_d = Accessing;
      Accessing: if (access_ready_i) state_d = Fetching;
      Fetching: state_d = ReplyAddresses;
      ReplyAddresses: if (reply_ready_i) state_d = ReplyRegister;
      default: if (reply_ready_i) state_d = Idle;
    endcase
  end
  `FF(state_q, state_d, Idle)

  logic [47:0] source_q;
  register_word_t request_q;
  logic [31:0] read_q;
  // The source of the frame whose second word may be the next request.
  logic [47:0] first_source_q;
  `FFNE(first_source_q, addresses.source, enters && place_q == First)
  `FFNE(source_q, first_source_q, accepts)
  `FFNE(request_q, register_word, accepts)
  `FFNE(read_q, read_data_i, state_q == Fetching)

  assign access_valid_o = state_q == Accessing;
  assign access_write_o = request_q.is_write;
  assign access_address_o = request_q.address;
  assign access_data_o = request_q.value;
  assign access_source_o = source_q;

  address_word_t  reply_addresses;
  register_word_t reply_register;
  assign reply_addresses = '{
          destination: source_q,
          source: address_i,
          ether_type: EtherType,
          magic: RegisterMagic
      };
  assign reply_register = '{
          tag: request_q.tag,
          reserved: '0,
          is_reply: 1'b1,
          is_write: request_q.is_write,
          address: request_q.address,
          value: request_q.is_write ? request_q.value : read_q,
          reserved_end: '0
      };
  assign reply_valid_o = state_q inside {ReplyAddresses, ReplyRegister};
  assign reply_last_o = state_q == ReplyRegister;
  assign reply_data_o = swap_bytes(reply_last_o ? reply_register : reply_addresses);

  logic unused_request;
  assign unused_request = ^{request_q.reserved, request_q.is_reply, request_q.reserved_end};
endmodule
