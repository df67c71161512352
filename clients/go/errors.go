package turnpike

import (
	"errors"
	"fmt"
)

// Error returns the name of the status and its advice.
func (code Status) Error() string {
	if advice := code.Advice(); advice != "" {
		return code.String() + ": " + advice
	}
	return fmt.Sprintf("status code %d is unknown to this version; use a client of the node's version", uint16(code))
}

// isKnown reports whether this version has the status.
func (code Status) isKnown() bool { return code.Advice() != "" }

// isTransient reports whether the same request may succeed a little later.
func (code Status) isTransient() bool {
	return code == StatusBusy || code == StatusRateLimited || code == StatusNotFinal
}

var (
	// ErrClosed is returned by a client after Close.
	ErrClosed = errors.New("the client is closed; make another one")
	// ErrNoReply is the cause of an [UnansweredError] that the client's own timeout ended.
	ErrNoReply = errors.New("no node answered in time; check that one runs at the given addresses")
	// ErrWrongNetwork means that the node of a feed is of another network than the pinned one.
	ErrWrongNetwork = errors.New("the node is of another network; check the address")
	// ErrWrongReply means that a node's reply does not match the request.
	ErrWrongReply = errors.New("the node's reply does not match the request: the node is faulty, ask another one")
)

// OperationError reports an operation that the ledger did not execute. It wraps the [Status]:
//
//	errors.Is(err, turnpike.StatusInsufficientBalance)
type OperationError struct {
	Receipt Receipt
}

func (e *OperationError) Error() string {
	if e.Receipt.Status == StatusDepositRequired {
		return fmt.Sprintf("transaction %s: %v; the minimum deposit is %d", e.Receipt.Transaction, e.Receipt.Status, e.Receipt.Value)
	}
	return fmt.Sprintf("transaction %s: %v", e.Receipt.Transaction, e.Receipt.Status)
}

// Unwrap returns the status.
func (e *OperationError) Unwrap() error { return e.Receipt.Status }

// RefusedError reports a request that a node refused as a whole: it executed nothing of it. It wraps the [Status].
type RefusedError struct {
	Status Status
}

func (e *RefusedError) Error() string { return "the node refused the request: " + e.Status.Error() }

// Unwrap returns the status.
func (e *RefusedError) Unwrap() error { return e.Status }

// UnansweredError reports a request without a final answer. It may have been executed nevertheless: repeat the same
// operations, and the node executes each only once. Repeat a signed operation as it was signed.
//
// It wraps the cause: [ErrNoReply], [ErrClosed], or the context's error. If a node refused the last attempt, it also
// wraps that status, such as StatusBusy.
type UnansweredError struct {
	// Operations are the operations with the ids that they were sent with; none if the request only reads.
	Operations []Operation
	// Cause is why the client stopped waiting.
	Cause error
	// Refusal is the status of the last attempt, or StatusOk without one.
	Refusal Status
}

func (e *UnansweredError) Error() string {
	text := e.Cause.Error()
	if e.Refusal != StatusOk {
		// A node answered, so advice about addresses would mislead.
		text = "no result before the call ended; the last attempt was refused: " + e.Refusal.Error()
	}
	if len(e.Operations) > 0 {
		text += fmt.Sprintf("; transaction %s may have been executed: repeat it with the same id, and it is executed only once",
			e.Operations[0].Transaction)
	}
	return text
}

// Unwrap returns the cause and the refusal.
func (e *UnansweredError) Unwrap() []error {
	if e.Refusal != StatusOk {
		return []error{e.Cause, e.Refusal}
	}
	return []error{e.Cause}
}

// OptionError reports an option that is out of range.
type OptionError struct {
	Name, Problem string
}

func (e *OptionError) Error() string { return "option " + e.Name + ": " + e.Problem }
