// Made by rtl/nic/csr.py of rtl/nic/csr.yml; change that.
package nic_csr_pkg;
  localparam int unsigned AddressWidth = 12;
  // The number of a register's first word.
  typedef logic [AddressWidth-3:0] number_t;
  localparam number_t IdWord = number_t'(0);
  localparam number_t VersionWord = number_t'(1);
  localparam number_t PortsWord = number_t'(2);
  localparam number_t RetriesWord = number_t'(3);
  localparam number_t ControlWord = number_t'(4);
  localparam number_t AddressWord = number_t'(5);
  localparam number_t UdpPortWord = number_t'(6);
  localparam number_t PromiseWord = number_t'(7);
  localparam number_t TrustedAddressWord = number_t'(8);
  localparam number_t TrustedMaskWord = number_t'(9);
  localparam number_t AccountLimitWord = number_t'(10);
  localparam number_t RetryTickWord = number_t'(11);
  localparam number_t VerifyEnginesWord = number_t'(12);
  localparam number_t SecretWord = number_t'(16);
  localparam number_t ProofSecretWord = number_t'(32);
  localparam number_t RxPacketsWord = number_t'(64);
  localparam number_t TxPacketsWord = number_t'(80);
  localparam number_t CompactPacketsWord = number_t'(96);
  localparam number_t BatchPacketsWord = number_t'(98);
  localparam number_t OperationsWord = number_t'(100);
  localparam number_t ProofHitsWord = number_t'(102);
  localparam number_t ProofMissesWord = number_t'(104);
  localparam number_t FillsWord = number_t'(106);
  localparam number_t FillsRefusedWord = number_t'(108);
  localparam number_t HostPacketsWord = number_t'(110);
  localparam number_t SentPacketsWord = number_t'(112);
  localparam number_t HostDroppedWord = number_t'(114);
  localparam number_t RxDroppedWord = number_t'(116);
  localparam number_t VerifyPacketsWord = number_t'(132);
  localparam number_t VerifyPassedWord = number_t'(134);
  localparam number_t VerifySignaturesWord = number_t'(136);
  localparam number_t VerifyRootsWord = number_t'(138);
  localparam number_t VerifyHeadersWord = number_t'(140);

  typedef struct packed {
    logic verify;
    logic drop;
    logic hold;
    logic record;
    logic proof;
    logic batch;
    logic compact;
    logic run;
  } control_t;

  // What software has written.
  typedef struct packed {
    control_t control;
    logic [31:0] address;
    logic [15:0] udp_port;
    logic [7:0] promise;
    logic [31:0] trusted_address;
    logic [31:0] trusted_mask;
    logic [31:0] account_limit;
    logic [0:0] retry_tick;
    logic [127:0] secret;
    logic [511:0] proof_secret;
  } config_t;

  // What to count in this cycle.
  typedef struct packed {
    logic [7:0] rx_packets;
    logic [7:0] tx_packets;
    logic compact_packets;
    logic batch_packets;
    logic operations;
    logic proof_hits;
    logic proof_misses;
    logic fills;
    logic fills_refused;
    logic host_packets;
    logic sent_packets;
    logic host_dropped;
    logic [7:0] rx_dropped;
    logic verify_packets;
    logic verify_passed;
    logic verify_signatures;
    logic verify_roots;
    logic verify_headers;
  } events_t;
endpackage
