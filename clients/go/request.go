package turnpike

import (
	"context"
	"sync/atomic"
	"time"
)

// waiter is a caller that waits for an answer.
type waiter struct {
	ctx    context.Context
	answer chan answer // has room for the answer, so that nobody waits for a caller that left
	// refusal is the Status of the last attempt, if a node refused it.
	refusal atomic.Uint32
}

func newWaiter(ctx context.Context) waiter {
	return waiter{ctx: ctx, answer: make(chan answer, 1)}
}

// answer is the end of a request: the reply, and the receipts of a batch.
type answer struct {
	reply    reply
	receipts []Receipt
}

// call is an operation that waits for a batch with others.
type call struct {
	waiter
	format  batchFormat
	promise Promise
	entry   []byte
}

// fits reports whether both may be in one batch.
func (c *call) fits(other *call) bool { return c.format == other.format && c.promise == other.promise }

// request is a frame that is sent until it is answered, or until nobody waits for it.
type request struct {
	id uint32
	// frame has its length before it. It never changes, so a retry has the same transaction ids.
	frame []byte
	// waiters has one entry, or, if the batch is shared, one for each operation.
	waiters  []*waiter
	isShared bool
	// The others are guarded by the client's lock.
	due      time.Time
	attempts int
	refusals int
}

// isAbandoned reports whether nobody waits any longer.
func (r *request) isAbandoned() bool {
	for _, waiter := range r.waiters {
		if waiter.ctx.Err() == nil {
			return false
		}
	}
	return true
}

// refused notes a status for callers that stop waiting.
func (r *request) refused(status Status) {
	for _, waiter := range r.waiters {
		waiter.refusal.Store(uint32(status))
	}
}

// newBatch returns a request with entries of one format.
func newBatch(id uint32, format batchFormat, promise Promise, count int, entry func(i int, to []byte)) *request {
	size := entrySize(format)
	frame := newFrame(frameTypeBatch, id, batchHeaderSize+count*size)
	header := batchHeader{Count: uint16(count), Format: format, Promise: promise}
	header.Header.read(frame[prefixSize:])
	header.write(frame[prefixSize:])
	for i, at := 0, prefixSize+batchHeaderSize; i < count; i, at = i+1, at+size {
		entry(i, frame[at:at+size])
	}
	return &request{id: id, frame: frame}
}

// maxEntries returns how many entries of a format fit in a frame of a length.
func maxEntries(format batchFormat, length int) int {
	return (length - batchHeaderSize) / entrySize(format)
}

// sharedBatch returns a request with the operations of several callers.
func sharedBatch(id uint32, calls []*call) *request {
	r := newBatch(id, calls[0].format, calls[0].promise, len(calls), func(i int, to []byte) { copy(to, calls[i].entry) })
	r.isShared = true
	r.waiters = make([]*waiter, len(calls))
	for i, call := range calls {
		r.waiters[i] = &call.waiter
	}
	return r
}

// settle gives the callers their receipts, and returns a request with the operations that may succeed later, or nil.
func (r *request) settle(reply reply, receipts []Receipt, id uint32) *request {
	var left []int
	for i, receipt := range receipts {
		if receipt.Status.isTransient() {
			r.waiters[i].refusal.Store(uint32(receipt.Status))
			left = append(left, i)
			continue
		}
		r.waiters[i].answer <- answer{reply, receipts[i : i+1 : i+1]}
	}
	if left == nil {
		return nil
	}
	var header batchHeader
	header.read(r.frame[prefixSize:])
	entries, size := r.frame[prefixSize+batchHeaderSize:], entrySize(header.Format)
	rest := newBatch(id, header.Format, header.Promise, len(left), func(i int, to []byte) {
		copy(to, entries[left[i]*size:])
	})
	rest.isShared, rest.refusals = true, r.refusals
	for _, i := range left {
		rest.waiters = append(rest.waiters, r.waiters[i])
	}
	return rest
}
