package turnpike

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Client sends operations to a node, or to one of several replicas. Any number of goroutines may use it at once:
// operations that they submit at the same time share frames.
//
// A request without an answer is repeated, also at the next node, until a result is known or the call ends. A retry has
// the transaction id of the first attempt, by which nodes execute an operation only once.
type Client struct {
	*session
	promise Promise
	limit   *retryLimit
}

// retryLimit is how long the nodes recognise retries of operations whose ids carry no time; asked for once.
type retryLimit struct {
	mutex   sync.Mutex
	isKnown bool
	time    time.Duration
}

// New returns a client of a node, or of the replicas of one cluster, each HOST:PORT or HOST, over TCP, or over UDP with
// udp:// before it. It connects when there is something to send.
func New(nodes []string, options Options) (*Client, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	complete, err := addresses(nodes)
	if err != nil {
		return nil, err
	}
	return &Client{newSession(complete, options), options.Promise, new(retryLimit)}, nil
}

// WithPromise returns a client that waits for another promise, over the same connection.
func (c *Client) WithPromise(promise Promise) *Client {
	other := *c
	other.promise = promise
	return &other
}

// Close ends the connection. Calls that wait return an [UnansweredError].
func (c *Client) Close() error {
	c.session.close()
	<-c.session.stopped
	return nil
}

// Create creates an open account.
func (c *Client) Create(ctx context.Context, account AccountID) (Receipt, error) {
	return c.Execute(ctx, Create(account))
}

// Issue issues new money to an account.
func (c *Client) Issue(ctx context.Context, account AccountID, amount uint64) (Receipt, error) {
	return c.Execute(ctx, Issue(account, amount))
}

// Transfer moves money from the source to the destination.
func (c *Client) Transfer(ctx context.Context, source, destination AccountID, amount uint64) (Receipt, error) {
	return c.Execute(ctx, Transfer(source, destination, amount))
}

// Balance reads the balance of an account.
func (c *Client) Balance(ctx context.Context, account AccountID) (uint64, error) {
	receipt, err := c.Execute(ctx, Refer(account))
	return receipt.Value, err
}

// Execute executes an unsigned operation; the node must trust this address. An operation without a transaction id gets
// one: the receipt has it, and so has an [UnansweredError].
//
// A result other than StatusOk is an [OperationError].
func (c *Client) Execute(ctx context.Context, operation Operation) (Receipt, error) {
	if operation.Flags&flagLinked != 0 {
		return Receipt{Transaction: operation.Transaction}, ErrLinked
	}
	operation.name(time.Now())
	operations := []Operation{operation}
	if !operation.isRecognisedForEver() {
		// It is in a separate frame: its retries must end before those of others.
		receipts, err := c.ExecuteBatch(ctx, operations)
		if err != nil {
			return Receipt{Transaction: operation.Transaction}, err
		}
		return receipts[0], receipts[0].Err()
	}
	entry := make([]byte, operationSize)
	operation.write(entry)
	return c.share(ctx, batchFormatOperation, c.promise, entry, operations)
}

// ExecuteSigned executes an operation that a [Signer] signed, with the promise in it.
func (c *Client) ExecuteSigned(ctx context.Context, signed SignedOperation) (Receipt, error) {
	if signed.Operation.Flags&flagLinked != 0 {
		return Receipt{Transaction: signed.Operation.Transaction}, ErrLinked
	}
	entry := make([]byte, signedOperationSize)
	signed.write(entry)
	return c.share(ctx, batchFormatSigned, signed.Promise, entry, []Operation{signed.Operation})
}

// share submits an operation to a batch with those of other callers.
func (c *Client) share(ctx context.Context, format batchFormat, promise Promise, entry []byte, operations []Operation) (Receipt, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, ErrNoReply)
	defer cancel()
	call := &call{newWaiter(ctx), format, promise, entry}
	select {
	case c.calls <- call:
	case <-ctx.Done():
		return Receipt{}, c.unanswered(&call.waiter, nil)
	case <-c.ctx.Done():
		return Receipt{}, c.unanswered(&call.waiter, nil)
	}
	found, err := c.await(&call.waiter, operations)
	if err != nil {
		return Receipt{Transaction: operations[0].Transaction}, err
	}
	return found.receipts[0], found.receipts[0].Err()
}

// ExecuteBatch executes unsigned operations in order, independently of each other: a batch is not atomic, but
// [Operation.Linked] operations in it are. It returns a receipt for each; check [Receipt.Err]. Operations without a
// transaction id get one, in the given slice.
//
// Each frame has up to 1,023 operations in whole chains, or over UDP as many as fit a datagram, and waits for the
// previous one. For the highest rate, call it from several goroutines, whose batches are executed in any order.
//
// After an error some operations may have been executed, and the receipts are those of the frames before. Repeat the
// call with the same slice, and none is executed twice.
func (c *Client) ExecuteBatch(ctx context.Context, operations []Operation) ([]Receipt, error) {
	var receipts []Receipt
	for len(receipts) < len(operations) {
		part := wholeChains(operations[len(receipts):], c.maxEntries(batchFormatOperation))
		found, err := c.executePart(ctx, part)
		if err != nil {
			return receipts, err
		}
		if receipts == nil {
			receipts = found // often all of them
		} else {
			receipts = append(receipts, found...)
		}
	}
	return receipts, nil
}

// wholeChains returns the first operations, at most this many, and not the start of a linked chain that continues after
// them. If the first chain alone has more, it is returned as far as a frame carries it; the node refuses a part of it.
func wholeChains(operations []Operation, most int) []Operation {
	if len(operations) <= most {
		return operations
	}
	count := most
	for count > 0 && operations[count-1].Flags&flagLinked != 0 {
		count--
	}
	for count = max(count, 1); count < len(operations) && count < maxEntries(batchFormatOperation, maxFrame) &&
		operations[count-1].Flags&flagLinked != 0; count++ {
	}
	return operations[:count]
}

// executePart executes the operations of one frame.
func (c *Client) executePart(ctx context.Context, operations []Operation) ([]Receipt, error) {
	now, isLimited := time.Now(), false
	for i := range operations {
		operations[i].name(now)
		isLimited = isLimited || !operations[i].isRecognisedForEver()
	}
	timeout := c.options.Timeout
	if isLimited {
		limit, err := c.retryTime(ctx)
		if err != nil {
			return nil, err
		}
		timeout = min(timeout, limit)
	}
	batch := newBatch(c.nextID.Add(1), batchFormatOperation, c.promise, len(operations), func(i int, to []byte) {
		operations[i].write(to)
	})
	found, err := c.exchange(ctx, batch, timeout, operations)
	return found.receipts, err
}

// retryTime returns how long operations whose ids carry no time are repeated: a little shorter than nodes recognise
// them, because a frame takes time.
func (c *Client) retryTime(ctx context.Context) (time.Duration, error) {
	c.limit.mutex.Lock()
	defer c.limit.mutex.Unlock()
	if !c.limit.isKnown {
		info, err := c.Info(ctx)
		if err != nil {
			return 0, err
		}
		c.limit.time, c.limit.isKnown = info.RetryTime-min(info.RetryTime/4, time.Second), true
		if info.RetryTime == 0 { // not reported
			c.limit.time = c.options.Timeout
		}
	}
	return c.limit.time, nil
}

// exchange sends a request, and waits for its answer. A refusal of the whole request is a [RefusedError].
func (c *Client) exchange(ctx context.Context, request *request, timeout time.Duration, operations []Operation) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrNoReply)
	defer cancel()
	waiting := newWaiter(ctx)
	request.waiters = []*waiter{&waiting}
	select {
	case c.requests <- request:
		return c.await(&waiting, operations)
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	return answer{}, c.unanswered(&waiting, nil)
}

// await waits for the answer to a submitted request.
func (c *Client) await(waiter *waiter, operations []Operation) (answer, error) {
	select {
	case found := <-waiter.answer:
		if found.reply.status != StatusOk {
			return found, &RefusedError{found.reply.status}
		}
		return found, nil
	case <-waiter.ctx.Done():
	case <-c.ctx.Done():
	}
	return answer{}, c.unanswered(waiter, operations)
}

// unanswered returns the error of a call that stops waiting, for operations that may have been executed.
func (c *Client) unanswered(waiter *waiter, operations []Operation) error {
	cause := context.Cause(waiter.ctx)
	if cause == nil {
		cause = ErrClosed
	}
	isTimeout := errors.Is(cause, ErrNoReply) || errors.Is(cause, context.DeadlineExceeded)
	if failure := c.lastFailure(); failure != nil && isTimeout {
		cause = fmt.Errorf("%w; the last connection: %w", cause, failure)
	}
	if len(operations) > 0 {
		operations = slices.DeleteFunc(slices.Clone(operations), func(o Operation) bool { return o.Command == CommandRefer })
	}
	return &UnansweredError{operations, cause, Status(waiter.refusal.Load())}
}

// Info is a node's identity and progress.
type Info struct {
	// Network is the network id. Pin it: a node may have invented a network.
	Network NetworkID
	// Promise is the node's configured promise.
	Promise Promise
	// IsReadOnly reports that storage failed, so the node answers only reads.
	IsReadOnly bool
	// ServesBitcoin reports that the node proves transactions of Bitcoin.
	ServesBitcoin bool
	// TipHeight and TipHash are the last block's.
	TipHeight uint64
	TipHash   Hash
	// Accounts is the number of accounts.
	Accounts uint64
	// DurableSequence is the position of the last durable operation.
	DurableSequence uint64
	// Program is the version of the node.
	Program string
	// RetryTime is how long the node recognises the retry of an operation whose id carries no time; 0 if unknown.
	RetryTime time.Duration
}

// Info requests the node's identity and progress.
func (c *Client) Info(ctx context.Context) (Info, error) {
	id := c.nextID.Add(1)
	found, err := c.exchange(ctx, &request{id: id, frame: newFrame(frameTypeInfo, id, infoFrameSize)}, c.options.Timeout, nil)
	if err != nil {
		return Info{}, err
	}
	var frame infoFrame
	frame.read(found.reply.frame)
	const servesBitcoin, isReadOnly = 1, 2
	return Info{
		Network: frame.Network, Promise: frame.Promise, IsReadOnly: frame.Flags&isReadOnly != 0,
		ServesBitcoin: frame.Flags&servesBitcoin != 0, TipHeight: frame.TipHeight, TipHash: frame.TipHash,
		Accounts: frame.Accounts, DurableSequence: frame.DurableSequence,
		Program:   strings.TrimRight(string(frame.Program[:]), "\x00"),
		RetryTime: time.Duration(frame.RetryMilliseconds) * time.Millisecond,
	}, nil
}

// WaitForHeight waits until the node has executed a block, so that later reads are not older. Replicas may lag behind
// the one that sent a final reply: take the height of its [Client.Info], and wait for it at another one before reading
// there.
func (c *Client) WaitForHeight(ctx context.Context, height uint64) (Info, error) {
	const poll = 20 * time.Millisecond
	for {
		info, err := c.Info(ctx)
		if err != nil || info.TipHeight >= height {
			return info, err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return info, fmt.Errorf("the node has executed up to block %d, not %d: %w", info.TipHeight, height, context.Cause(ctx))
		}
	}
}
