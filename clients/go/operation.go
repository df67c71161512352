package turnpike

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// flagTimed marks an operation whose transaction id is a UUIDv7: nodes never execute a retry of it, however late.
const flagTimed = 1

// flagLinked marks an operation that succeeds or fails with the next one of its batch.
const flagLinked = 2

// ErrLinked means that a part of a linked chain was to be sent on its own, in a frame with operations of other callers.
var ErrLinked = errors.New("the operation is linked with the next one of a batch; send the whole chain with ExecuteBatch")

// Create returns an operation that creates an account, with a balance of 0.
func Create(account AccountID) Operation {
	return Operation{Command: CommandCreate, Source: account}
}

// CreateFor returns an operation that creates a keyed account, with a deposit that another account pays. The deposit
// leaves circulation. Only the payer's [Signer] can authorise it.
func CreateFor(account, payer AccountID, deposit uint64) Operation {
	return Operation{Command: CommandCreate, Source: account, Destination: payer, Amount: deposit}
}

// InAsset returns this CREATE as an OPEN: the new account is of an asset, and nothing is paid between accounts of
// different assets. An account of asset 0 is one of a CREATE.
func (f Operation) InAsset(asset uint32) Operation {
	if f.Command == CommandCreate && asset != 0 {
		f.Command, f.Contract = CommandOpen, asset
	}
	return f
}

// Issue returns an operation that issues new money to an account.
func Issue(account AccountID, amount uint64) Operation {
	return Operation{Command: CommandIssue, Source: account, Amount: amount}
}

// Transfer returns an operation that moves money from the source to the destination.
func Transfer(source, destination AccountID, amount uint64) Operation {
	return Operation{Command: CommandTransfer, Source: source, Destination: destination, Amount: amount}
}

// Hold returns an operation that reserves an amount of the source for the destination, until the expiry, in whole
// seconds; the zero time if it does not expire. Name it with [Operation.WithTimedID], and keep it: the operations that
// end the hold are made from it.
func Hold(source, destination AccountID, amount uint64, expiry time.Time) Operation {
	hold := Operation{Command: CommandHold, Source: source, Destination: destination, Amount: amount}
	if !expiry.IsZero() {
		hold.Contract = uint32(min(max(expiry.Unix(), 1), math.MaxUint32))
	}
	return hold
}

// Capture returns the operation that ends this HOLD: its destination receives an amount, its source gets the rest back.
// Only the destination's [Signer] can authorise it for a keyed account.
func (f Operation) Capture(amount uint64) Operation {
	return f.end(CommandCapture, amount)
}

// Release returns the operation by which the destination ends this HOLD, and its source gets all of it back.
func (f Operation) Release() Operation {
	return f.end(CommandRelease, 0)
}

// Reclaim returns the operation by which the source ends this HOLD after its expiry.
func (f Operation) Reclaim() Operation {
	return f.end(CommandReclaim, 0)
}

// end has the id of the hold, without the mark of an id that carries a time, as the hold may be old.
func (f Operation) end(command Command, amount uint64) Operation {
	f.Command, f.Amount, f.Flags = command, amount, 0
	return f
}

// HoldID returns the id under which [Client.ProveBalance] finds the open hold that this HOLD made. Its balance is the
// held amount.
func (f Operation) HoldID() AccountID {
	expiry := binary.BigEndian.AppendUint32(nil, f.Contract)
	hash := tagged(tagHold, f.Source[:], f.Destination[:], f.Transaction[:], expiry)
	return AccountID(hash[:16])
}

// AssetID returns the id under which [Client.ProveBalance] finds the asset of an account or a hold that has another one
// than 0.
func AssetID(account AccountID) AccountID {
	hash := tagged(tagAsset, account[:])
	id := AccountID(hash[:16])
	for i := len(id) - 1; i > 0; i-- {
		id[i] = id[i]>>1 | id[i-1]<<7
	}
	id[0] >>= 1
	return id
}

// Freeze returns an operation that freezes an account: it receives, but cannot pay. Only an issuer's [Signer] can
// authorise it for a keyed account.
func Freeze(account AccountID) Operation {
	return Operation{Command: CommandFreeze, Source: account}
}

// Unfreeze returns an operation that lets a frozen account pay again.
func Unfreeze(account AccountID) Operation {
	return Operation{Command: CommandUnfreeze, Source: account}
}

// Close returns an operation that closes an account, whose balance must be 0.
func Close(account AccountID) Operation {
	return Operation{Command: CommandClose, Source: account}
}

// Refer returns an operation that reads the balance of an account.
func Refer(account AccountID) Operation {
	return Operation{Command: CommandRefer, Source: account}
}

// Linked returns the operation linked with the next one of [Client.ExecuteBatch]: they succeed together, or nothing
// changes. Up to 64 operations form a chain; all but the last are linked, and none is a Refer, Freeze or Unfreeze. The one that fails has its
// status, and the others have StatusLinkedFailed.
func (f Operation) Linked() Operation {
	f.Flags |= flagLinked
	return f
}

// WithTimedID returns the operation with an id of [NewTransactionID], or another UUIDv7. Its retries are never executed
// again, so the program may store the id, and repeat the operation after a crash.
func (f Operation) WithTimedID(id TransactionID) Operation {
	f.Transaction, f.Flags = id, f.Flags|flagTimed
	return f
}

// WithID returns the operation with an id of any form. The node recognises its retries only for the time that
// [Info.RetryTime] reports; after that they are executed again. The client stops its own retries before.
func (f Operation) WithID(id TransactionID) Operation {
	f.Transaction, f.Flags = id, f.Flags&^flagTimed
	return f
}

// name chooses a transaction id, unless the operation has one.
func (f *Operation) name(now time.Time) {
	if f.Transaction == (TransactionID{}) && f.Flags&flagTimed == 0 {
		f.Transaction, f.Flags = timedID(now.UnixMilli()), f.Flags|flagTimed
	}
}

// isRecognisedForEver reports whether the operation may be repeated at any time.
func (f *Operation) isRecognisedForEver() bool {
	return f.Flags&flagTimed != 0 || f.Command == CommandRefer
}

// namer returns the account whose transaction ids the operation uses.
func (f *Operation) namer() AccountID {
	if (f.Command == CommandCreate || f.Command == CommandOpen) && f.Destination != (AccountID{}) {
		return f.Destination
	}
	if f.Command == CommandCapture || f.Command == CommandRelease || f.Command == CommandReclaim {
		return f.Destination
	}
	return f.Source
}

// changes reports whether the operation changes an account, or makes or ends a hold of it or for it.
func (f *Operation) changes(account AccountID) bool {
	hasBoth := f.Command == CommandTransfer || f.Command == CommandHold
	return f.Source == account || hasBoth && f.Destination == account || f.namer() == account
}

// Receipt is a node's reply to an operation.
type Receipt struct {
	// Transaction is the id of the operation.
	Transaction TransactionID
	// Status is StatusOk if the operation was executed.
	Status Status
	// Promise is what the node guarantees. A node without replicas answers PromiseFinal with PromiseDurable.
	Promise Promise
	// Value is the balance of the source afterwards; with StatusDepositRequired, the node's minimum deposit.
	Value uint64
}

// Err returns the status as an error, or nil if the operation was executed.
func (r Receipt) Err() error {
	if r.Status == StatusOk {
		return nil
	}
	return &OperationError{Receipt: r}
}
