// What testbenches name of the protocol. Made by schema/generate.py of schema/protocol.toml; change that.
#pragma once

#include <cstdint>

namespace protocol {

// The outcome of an operation or of a frame.
constexpr uint16_t kStatusOk = 0;
constexpr uint16_t kStatusAccountExists = 1;
constexpr uint16_t kStatusSourceUnknown = 2;
constexpr uint16_t kStatusDestinationUnknown = 3;
constexpr uint16_t kStatusInsufficientBalance = 4;
constexpr uint16_t kStatusOverflow = 5;
constexpr uint16_t kStatusTableFull = 6;
constexpr uint16_t kStatusZeroAmount = 16;
constexpr uint16_t kStatusSelfTransfer = 17;
constexpr uint16_t kStatusTransactionIdReused = 18;
constexpr uint16_t kStatusExpired = 19;
constexpr uint16_t kStatusUnknownCommand = 32;
constexpr uint16_t kStatusMalformed = 33;
constexpr uint16_t kStatusNotTrusted = 34;
constexpr uint16_t kStatusNotAuthorised = 35;
constexpr uint16_t kStatusNotIssuer = 36;
constexpr uint16_t kStatusStaleTimestamp = 37;
constexpr uint16_t kStatusBadSignature = 38;
constexpr uint16_t kStatusRateLimited = 39;
constexpr uint16_t kStatusBusy = 40;
constexpr uint16_t kStatusStorageFailed = 41;
constexpr uint16_t kStatusUnsupportedVersion = 42;
constexpr uint16_t kStatusDepositRequired = 43;
constexpr uint16_t kStatusStaleGeneration = 44;
constexpr uint16_t kStatusNotFinal = 45;
constexpr uint16_t kStatusNotFound = 64;
constexpr uint16_t kStatusReplyTooLarge = 65;
constexpr uint16_t kStatusNotProvable = 66;
constexpr uint16_t kStatusUnknownChain = 67;

// The rules of verification: bits of a result mask. None stands for no broken rule.
constexpr unsigned kRuleNone = 0;
constexpr unsigned kRuleEquihashLength = 1;
constexpr unsigned kRuleEquihashCollision = 2;
constexpr unsigned kRuleEquihashOrder = 3;
constexpr unsigned kRuleEquihashDuplicate = 4;
constexpr unsigned kRuleEquihashRoot = 5;
constexpr unsigned kRuleHeaderSolutionLength = 8;
constexpr unsigned kRuleHeaderTarget = 9;
constexpr unsigned kRuleHeaderDifficulty = 10;
constexpr unsigned kRuleSignatureRange = 16;
constexpr unsigned kRuleSignatureHighS = 17;
constexpr unsigned kRuleKeyEncoding = 18;
constexpr unsigned kRuleKeyNotOnCurve = 19;
constexpr unsigned kRuleSignatureMismatch = 20;
constexpr unsigned kRuleSignatureLength = 21;
constexpr unsigned kRuleSignatureDerStructure = 22;
constexpr unsigned kRuleSignatureDerNegative = 23;
constexpr unsigned kRuleSignatureDerPadding = 24;
constexpr unsigned kRuleKeyHybrid = 25;
constexpr unsigned kRuleKeyRange = 26;
constexpr unsigned kRuleKeyParity = 27;
constexpr unsigned kRuleNonceNotOnCurve = 28;
constexpr unsigned kRuleRecoveryId = 29;
constexpr unsigned kRuleNoKey = 30;
constexpr unsigned kRuleMerkleRoot = 32;
constexpr unsigned kRuleMerkleRepeated = 33;
constexpr unsigned kRulePointLength = 40;
constexpr unsigned kRulePointFlags = 41;
constexpr unsigned kRulePointInfinityBits = 42;
constexpr unsigned kRuleCoordinatePadding = 43;
constexpr unsigned kRuleCoordinateRange = 44;
constexpr unsigned kRulePointNotOnCurve = 45;
constexpr unsigned kRulePointNotInSubgroup = 46;
constexpr unsigned kRuleScalarRange = 47;
constexpr unsigned kRulePointAtInfinity = 48;
constexpr unsigned kRuleKeyCount = 49;
constexpr unsigned kRuleInputCount = 50;
constexpr unsigned kRuleBlsMismatch = 51;
constexpr unsigned kRuleGroth16Mismatch = 52;
constexpr unsigned kRulePairingMismatch = 53;
constexpr unsigned kRuleDelayForm = 56;
constexpr unsigned kRuleDelayModulus = 57;
constexpr unsigned kRuleDelayRange = 58;
constexpr unsigned kRuleDelayInput = 59;
constexpr unsigned kRuleDelayCanonical = 60;
constexpr unsigned kRuleDelayMismatch = 61;

}  // namespace protocol
