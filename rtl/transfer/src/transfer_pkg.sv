// Names and codes of docs/protocol.md used by the transfer engine.
package transfer_pkg;
  typedef logic [31:0] id_t;
  typedef logic [31:0] amount_t;
  typedef logic [63:0] balance_t;

  typedef enum logic [1:0] {
    Create = 2'(protocol_pkg::CommandCreate - 1),
    Issue = 2'(protocol_pkg::CommandIssue - 1),
    Transfer = 2'(protocol_pkg::CommandTransfer - 1),
    Refer = 2'(protocol_pkg::CommandRefer - 1)
  } command_e;

  // All statuses that the engine returns have codes below 64.
  typedef enum logic [5:0] {
    StatusOk = 6'(protocol_pkg::StatusOk),
    StatusAccountExists = 6'(protocol_pkg::StatusAccountExists),
    StatusSourceUnknown = 6'(protocol_pkg::StatusSourceUnknown),
    StatusDestinationUnknown = 6'(protocol_pkg::StatusDestinationUnknown),
    StatusInsufficientBalance = 6'(protocol_pkg::StatusInsufficientBalance),
    StatusOverflow = 6'(protocol_pkg::StatusOverflow),
    StatusTableFull = 6'(protocol_pkg::StatusTableFull),
    StatusZeroAmount = 6'(protocol_pkg::StatusZeroAmount),
    StatusSelfTransfer = 6'(protocol_pkg::StatusSelfTransfer),
    StatusTransactionIdReused = 6'(protocol_pkg::StatusTransactionIdReused),
    StatusUnknownCommand = 6'(protocol_pkg::StatusUnknownCommand),
    StatusMalformed = 6'(protocol_pkg::StatusMalformed),
    StatusNotTrusted = 6'(protocol_pkg::StatusNotTrusted),
    StatusBusy = 6'(protocol_pkg::StatusBusy)
  } status_e;

  // Operation on its way to the store controller. `refusal` is not OK if the operation's form alone refuses it.
  typedef struct packed {
    status_e refusal;
    command_e command;
    id_t transaction;
    id_t source;
    id_t destination;
    amount_t amount;
  } operation_t;

  // Place for an account in external memory, 97 bits.
  typedef struct packed {
    logic     used;
    id_t      id;
    balance_t balance;
  } account_t;

  // Accounts per bucket.
  localparam int unsigned AccountWays = 4;
  typedef account_t [AccountWays-1:0] bucket_t;

  // Must be equal in a retry, besides the source and the transaction id.
  typedef struct packed {
    command_e command;
    id_t destination;
    amount_t amount;
  } content_t;

  // Outcome of an operation: the status, and the source's balance.
  typedef struct packed {
    status_e  status;
    balance_t value;
  } result_t;

  // Outcome with `wide`, set if the value exceeds 32 bits, the size of a compact frame's field.
  typedef struct packed {
    logic    wide;
    status_e status;
    balance_t value;
  } answer_t;
endpackage
