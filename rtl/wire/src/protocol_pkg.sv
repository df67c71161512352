// The codes of the protocol. Made by schema/generate.py of schema/protocol.toml; change that.
package protocol_pkg;
  // "TP": no compact frame starts so, because commands are small numbers.
  localparam logic [15:0] Magic = 16'h5450;
  // The protocol's version.
  localparam logic [7:0] Version = 8'h1;
  // Added to a request's type in its reply.
  localparam logic [7:0] ReplyBit = 8'h80;
  // The type of an error frame.
  localparam logic [7:0] ErrorType = 8'hff;
  // Added to the command of a message in its result.
  localparam logic [31:0] MessageReplyBit = 32'h80000000;

  // Type of a frame with a header.
  localparam logic [7:0] FrameTypeFull = 8'd1;
  localparam logic [7:0] FrameTypeBatch = 8'd2;
  localparam logic [7:0] FrameTypeProof = 8'd3;
  localparam logic [7:0] FrameTypeHeaders = 8'd4;
  localparam logic [7:0] FrameTypeInfo = 8'd5;
  localparam logic [7:0] FrameTypeVerify = 8'd6;
  localparam logic [7:0] FrameTypeFinality = 8'd7;
  localparam logic [7:0] FrameTypeChange = 8'd8;

  // What the entries of a batch are.
  localparam logic [7:0] BatchFormatCompact = 8'd0;
  localparam logic [7:0] BatchFormatOperation = 8'd1;
  localparam logic [7:0] BatchFormatSigned = 8'd2;

  // What an operation does.
  localparam logic [7:0] CommandCreate = 8'd1;
  localparam logic [7:0] CommandIssue = 8'd2;
  localparam logic [7:0] CommandTransfer = 8'd3;
  localparam logic [7:0] CommandRefer = 8'd4;

  // What a reply vouches for. Later ones are stronger.
  localparam logic [7:0] PromiseDefault = 8'd0;
  localparam logic [7:0] PromiseAccepted = 8'd1;
  localparam logic [7:0] PromiseDurable = 8'd2;
  localparam logic [7:0] PromiseFinal = 8'd3;

  // Whose blocks are asked for.
  localparam logic [7:0] ChainOwn = 8'd0;
  localparam logic [7:0] ChainBitcoin = 8'd1;

  // What a proof is asked of.
  localparam logic [7:0] QueryLatest = 8'd1;
  localparam logic [7:0] QueryTransaction = 8'd2;
  localparam logic [7:0] QueryLocator = 8'd3;
  localparam logic [7:0] QueryIndex = 8'd4;

  // What a message of a verify frame asks to have verified.
  localparam logic [31:0] VerifyCommandEquihash = 32'd256;
  localparam logic [31:0] VerifyCommandEcdsa = 32'd257;
  localparam logic [31:0] VerifyCommandSchnorr = 32'd258;
  localparam logic [31:0] VerifyCommandMerkleRoot = 32'd259;
  localparam logic [31:0] VerifyCommandBls = 32'd260;
  localparam logic [31:0] VerifyCommandGroth16 = 32'd261;
  localparam logic [31:0] VerifyCommandPairing = 32'd262;
  localparam logic [31:0] VerifyCommandDelay = 32'd263;

  // Commands have the codes from 1 on.
  localparam int unsigned CommandCodes = 4;

  // The outcome of an operation or of a frame.
  localparam logic [15:0] StatusOk = 16'd0;
  localparam logic [15:0] StatusAccountExists = 16'd1;
  localparam logic [15:0] StatusSourceUnknown = 16'd2;
  localparam logic [15:0] StatusDestinationUnknown = 16'd3;
  localparam logic [15:0] StatusInsufficientBalance = 16'd4;
  localparam logic [15:0] StatusOverflow = 16'd5;
  localparam logic [15:0] StatusTableFull = 16'd6;
  localparam logic [15:0] StatusZeroAmount = 16'd16;
  localparam logic [15:0] StatusSelfTransfer = 16'd17;
  localparam logic [15:0] StatusTransactionIdReused = 16'd18;
  localparam logic [15:0] StatusExpired = 16'd19;
  localparam logic [15:0] StatusUnknownCommand = 16'd32;
  localparam logic [15:0] StatusMalformed = 16'd33;
  localparam logic [15:0] StatusNotTrusted = 16'd34;
  localparam logic [15:0] StatusNotAuthorised = 16'd35;
  localparam logic [15:0] StatusNotIssuer = 16'd36;
  localparam logic [15:0] StatusStaleTimestamp = 16'd37;
  localparam logic [15:0] StatusBadSignature = 16'd38;
  localparam logic [15:0] StatusRateLimited = 16'd39;
  localparam logic [15:0] StatusBusy = 16'd40;
  localparam logic [15:0] StatusStorageFailed = 16'd41;
  localparam logic [15:0] StatusUnsupportedVersion = 16'd42;
  localparam logic [15:0] StatusDepositRequired = 16'd43;
  localparam logic [15:0] StatusStaleGeneration = 16'd44;
  localparam logic [15:0] StatusNotFound = 16'd64;
  localparam logic [15:0] StatusReplyTooLarge = 16'd65;
  localparam logic [15:0] StatusNotProvable = 16'd66;
  localparam logic [15:0] StatusUnknownChain = 16'd67;
endpackage
