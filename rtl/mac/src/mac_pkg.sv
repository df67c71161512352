// Constants of gigabit Ethernet (IEEE 802.3, clauses 3 and 35), and how a received frame ended.
package mac_pkg;
  localparam logic [7:0] Preamble = 8'h55;
  localparam logic [7:0] StartOfFrame = 8'hd5;
  // Preamble bytes before the start-of-frame delimiter.
  localparam int unsigned PreambleBytes = 7;
  localparam int unsigned FcsBytes = 4;
  // Lengths of a frame from its destination address to its FCS; the longest has one VLAN tag (802.3 clause 3.2.7).
  localparam int unsigned MinBytes = 64;
  localparam int unsigned MaxBytes = 1522;
  // Byte times between frames: 96 bits.
  localparam int unsigned GapBytes = 12;
  // The CRC's register after a frame and its correct FCS.
  localparam logic [31:0] Residue = 32'hdebb20e3;

  // The end of a received frame: each counts as exactly one of them.
  typedef enum logic [2:0] {
    RxGood = 3'd0,
    RxBadFcs = 3'd1,
    // Shorter than MinBytes.
    RxRunt = 3'd2,
    // Longer than MaxBytes.
    RxJabber = 3'd3,
    // The PHY reported an error within the frame.
    RxError = 3'd4,
    // The carrier ended without a start-of-frame delimiter, or other bytes came before it.
    RxNoStart = 3'd5,
    // Correct, but the queue had no room.
    RxDropped = 3'd6
  } rx_status_e;
endpackage
