package turnpike

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// AccountID identifies an account. The top bit is 0 for open accounts, whose ids the operator's systems choose, and 1
// for keyed accounts, whose ids bind a public key.
type AccountID [16]byte

// TransactionID names an operation, together with its source account or payer. All zeros stand for an id that the
// client chooses.
type TransactionID [16]byte

// NetworkID identifies a network: the hash of the genesis header, which names the chain's key or its replicas.
type NetworkID = Hash

// Account returns the open account with a number.
func Account(number uint64) (id AccountID) {
	binary.BigEndian.PutUint64(id[8:], number)
	return id
}

// ParseAccountID parses 32 hexadecimal digits, up to 32 of them after 0x, or a decimal number below 2^64.
func ParseAccountID(text string) (AccountID, error) {
	id, err := parseID(text)
	return AccountID(id), err
}

// IsKeyed reports whether the id binds a public key.
func (id AccountID) IsKeyed() bool { return id[0]&0x80 != 0 }

// String returns 32 hexadecimal digits.
func (id AccountID) String() string { return hex.EncodeToString(id[:]) }

// NewTransactionID returns a UUIDv7 (RFC 9562) with the present time: mark its operation with [Operation.WithTimedID].
func NewTransactionID() TransactionID { return timedID(time.Now().UnixMilli()) }

// timedID makes a UUIDv7. Its 74 random bits come from ChaCha8, seeded by the operating system.
func timedID(milliseconds int64) (id TransactionID) {
	const version, variant = 0x7000, 1 << 63
	binary.BigEndian.PutUint64(id[:8], uint64(milliseconds)<<16|version|rand.Uint64()&0x0fff)
	binary.BigEndian.PutUint64(id[8:], variant|rand.Uint64()>>2)
	return id
}

// ParseTransactionID parses an id in one of the forms of [ParseAccountID].
func ParseTransactionID(text string) (TransactionID, error) {
	id, err := parseID(text)
	return TransactionID(id), err
}

// String returns 32 hexadecimal digits.
func (id TransactionID) String() string { return hex.EncodeToString(id[:]) }

var errNotAnID = errors.New("an id is 32 hexadecimal digits, or up to 32 of them after 0x, or a decimal number below 2^64")

func parseID(text string) (id [16]byte, err error) {
	digits, isHex := strings.CutPrefix(text, "0x")
	if !isHex && len(text) != 2*len(id) {
		// ParseUint would also accept a sign.
		number, err := strconv.ParseUint(text, 10, 64)
		if err != nil || strings.HasPrefix(text, "+") {
			return id, errNotAnID
		}
		binary.BigEndian.PutUint64(id[8:], number)
		return id, nil
	}
	if len(digits) == 0 || len(digits) > 2*len(id) {
		return id, errNotAnID
	}
	bytes, err := hex.DecodeString(strings.Repeat("0", 2*len(id)-len(digits)) + digits)
	if err != nil {
		return id, errNotAnID
	}
	return [16]byte(bytes), nil
}
