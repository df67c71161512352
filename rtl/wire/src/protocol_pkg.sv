// The codes of the protocol. Made by schema/generate.py of schema/protocol.toml; change that.
package protocol_pkg;
  // "TP": no compact frame starts with it, because commands are small numbers.
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

  // Format of the entries of a batch.
  localparam logic [7:0] BatchFormatCompact = 8'd0;
  localparam logic [7:0] BatchFormatOperation = 8'd1;
  localparam logic [7:0] BatchFormatSigned = 8'd2;

  // Command of an operation.
  localparam logic [7:0] CommandCreate = 8'd1;
  localparam logic [7:0] CommandIssue = 8'd2;
  localparam logic [7:0] CommandTransfer = 8'd3;
  localparam logic [7:0] CommandRefer = 8'd4;

  // Promise that a reply makes. Later ones are stronger.
  localparam logic [7:0] PromiseDefault = 8'd0;
  localparam logic [7:0] PromiseAccepted = 8'd1;
  localparam logic [7:0] PromiseDurable = 8'd2;
  localparam logic [7:0] PromiseFinal = 8'd3;

  // Chain that a request is about.
  localparam logic [7:0] ChainOwn = 8'd0;
  localparam logic [7:0] ChainBitcoin = 8'd1;

  // Subject of a proof request.
  localparam logic [7:0] QueryLatest = 8'd1;
  localparam logic [7:0] QueryTransaction = 8'd2;
  localparam logic [7:0] QueryLocator = 8'd3;
  localparam logic [7:0] QueryIndex = 8'd4;

  // Object that a message of a verify frame asks to verify.
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
  localparam logic [15:0] StatusNotFinal = 16'd45;
  localparam logic [15:0] StatusNotFound = 16'd64;
  localparam logic [15:0] StatusReplyTooLarge = 16'd65;
  localparam logic [15:0] StatusNotProvable = 16'd66;
  localparam logic [15:0] StatusUnknownChain = 16'd67;

  // The rules of verification: bits of a result mask. None stands for no broken rule.
  localparam logic [5:0] RuleNone = 6'd0;
  localparam logic [5:0] RuleEquihashLength = 6'd1;
  localparam logic [5:0] RuleEquihashCollision = 6'd2;
  localparam logic [5:0] RuleEquihashOrder = 6'd3;
  localparam logic [5:0] RuleEquihashDuplicate = 6'd4;
  localparam logic [5:0] RuleEquihashRoot = 6'd5;
  localparam logic [5:0] RuleHeaderSolutionLength = 6'd8;
  localparam logic [5:0] RuleHeaderTarget = 6'd9;
  localparam logic [5:0] RuleHeaderDifficulty = 6'd10;
  localparam logic [5:0] RuleSignatureRange = 6'd16;
  localparam logic [5:0] RuleSignatureHighS = 6'd17;
  localparam logic [5:0] RuleKeyEncoding = 6'd18;
  localparam logic [5:0] RuleKeyNotOnCurve = 6'd19;
  localparam logic [5:0] RuleSignatureMismatch = 6'd20;
  localparam logic [5:0] RuleSignatureLength = 6'd21;
  localparam logic [5:0] RuleSignatureDerStructure = 6'd22;
  localparam logic [5:0] RuleSignatureDerNegative = 6'd23;
  localparam logic [5:0] RuleSignatureDerPadding = 6'd24;
  localparam logic [5:0] RuleKeyHybrid = 6'd25;
  localparam logic [5:0] RuleKeyRange = 6'd26;
  localparam logic [5:0] RuleKeyParity = 6'd27;
  localparam logic [5:0] RuleNonceNotOnCurve = 6'd28;
  localparam logic [5:0] RuleRecoveryId = 6'd29;
  localparam logic [5:0] RuleNoKey = 6'd30;
  localparam logic [5:0] RuleMerkleRoot = 6'd32;
  localparam logic [5:0] RuleMerkleRepeated = 6'd33;
  localparam logic [5:0] RulePointLength = 6'd40;
  localparam logic [5:0] RulePointFlags = 6'd41;
  localparam logic [5:0] RulePointInfinityBits = 6'd42;
  localparam logic [5:0] RuleCoordinatePadding = 6'd43;
  localparam logic [5:0] RuleCoordinateRange = 6'd44;
  localparam logic [5:0] RulePointNotOnCurve = 6'd45;
  localparam logic [5:0] RulePointNotInSubgroup = 6'd46;
  localparam logic [5:0] RuleScalarRange = 6'd47;
  localparam logic [5:0] RulePointAtInfinity = 6'd48;
  localparam logic [5:0] RuleKeyCount = 6'd49;
  localparam logic [5:0] RuleInputCount = 6'd50;
  localparam logic [5:0] RuleBlsMismatch = 6'd51;
  localparam logic [5:0] RuleGroth16Mismatch = 6'd52;
  localparam logic [5:0] RulePairingMismatch = 6'd53;
  localparam logic [5:0] RuleDelayForm = 6'd56;
  localparam logic [5:0] RuleDelayModulus = 6'd57;
  localparam logic [5:0] RuleDelayRange = 6'd58;
  localparam logic [5:0] RuleDelayInput = 6'd59;
  localparam logic [5:0] RuleDelayCanonical = 6'd60;
  localparam logic [5:0] RuleDelayMismatch = 6'd61;
endpackage
