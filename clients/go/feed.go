package turnpike

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	// feedSilence is how long a connection may bring no frame: five heartbeats.
	feedSilence = 5 * time.Second
	// feedPause is the first wait before another attempt to connect.
	feedPause = 50 * time.Millisecond
	// The ids of the two requests on a connection.
	feedGreetingID, feedRequestID = 1, 2
	// feedTailSize is the length of the signature of an operation, for feeds that request them.
	feedTailSize = 128
	// feedOfAccount is the flag of a feed with the operations of one account.
	feedOfAccount = 1
)

// Feed delivers the operations that a node journals, in order and each exactly once. It uses TCP, reconnects by itself,
// and continues at its cursor. One goroutine may use it at a time.
type Feed struct {
	node    string
	options Options
	account *AccountID
	cursor  uint64
	network *NetworkID

	connection    net.Conn
	read          func() ([]byte, error)
	reconnections int
	isClosed      bool
}

// FeedEntry is an operation that the node journalled, and its result: failed ones are in the feed, too.
type FeedEntry struct {
	// Sequence is the position in the node's journal, from 1.
	Sequence uint64
	// Operation has the amount as requested, and its Status.
	Operation Operation
	// Value is the balance of the source after the operation.
	Value uint64
}

// FeedPart has operations of one batch of the journal, or none: a node reports its progress each second.
type FeedPart struct {
	// Entries are the operations, by ascending sequences.
	Entries []FeedEntry
	// Time is the ledger time of the operations; the zero time without any.
	Time time.Time
	// Promise is the promise of the operations.
	Promise Promise
	// Cursor is the sequence of the first operation after this part. Store it with the effects of the part, in one
	// transaction.
	Cursor uint64
	// Durable is the sequence of the last durable operation.
	Durable uint64
	// Finalized is the sequence of the last final operation; 0 if the node is not a replica.
	Finalized uint64
}

// PrunedError reports that the node no longer has the operation at the cursor of a feed. It wraps StatusPruned.
type PrunedError struct {
	// Cursor is the feed's cursor, First the first sequence in the node's journal.
	Cursor, First uint64
}

func (e *PrunedError) Error() string {
	return fmt.Sprintf("operation %d is not in the node's journal, whose first is %d: %v", e.Cursor, e.First, StatusPruned)
}

// Unwrap returns StatusPruned.
func (e *PrunedError) Unwrap() error { return StatusPruned }

// NewFeed returns a feed of all operations of a node from a sequence on; the first operation has 1. The node must trust
// this address. Of the options it uses Promise, Timeout and Dial. It connects with the first [Feed.Receive].
func NewFeed(node string, cursor uint64, options Options) (*Feed, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	complete, err := addresses([]string{node})
	if err != nil {
		return nil, err
	}
	if cursor == 0 {
		return nil, &OptionError{"cursor", "the first operation has 1"}
	}
	return &Feed{node: complete[0].address, options: options, cursor: cursor}, nil
}

// OfAccount makes the feed one of the operations that name an account as source or destination. Call it first.
func (f *Feed) OfAccount(account AccountID) *Feed {
	f.account = &account
	return f
}

// OfNetwork makes the feed refuse nodes of another network. Without it, the first connection's network is pinned. Call
// it first.
func (f *Feed) OfNetwork(network NetworkID) *Feed {
	f.network = &network
	return f
}

// Cursor returns the sequence of the first operation that Receive has not returned yet.
func (f *Feed) Cursor() uint64 { return f.cursor }

// Reconnections returns the number of connections after the first.
func (f *Feed) Reconnections() int { return f.reconnections }

// Close ends the feed. To end a Receive of another goroutine, end its context.
func (f *Feed) Close() error {
	f.isClosed = true
	f.disconnect()
	return nil
}

// Receive waits for the next part: a node sends one each second at least. It connects again if the connection is lost.
//
// The errors are a [PrunedError], an [UnansweredError] if the node does not answer for Options.Timeout or until the
// context ends, and a [RefusedError] of StatusTooSlow if this program read too slowly, or of StatusNotFound if the
// journal ends before the cursor. After StatusTooSlow, or any other error that has passed, Receive continues at the
// cursor.
func (f *Feed) Receive(ctx context.Context) (FeedPart, error) {
	if f.isClosed {
		return FeedPart{}, ErrClosed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.options.Timeout, ErrNoReply)
	defer cancel()
	refusal := StatusOk
	for attempt := 0; ; attempt++ {
		part, err := f.receiveOnce(ctx)
		if err == nil {
			return part, nil
		}
		// The frame was the last one, or the connection is of no use.
		f.disconnect()
		var refused *RefusedError
		if errors.As(err, &refused) && refused.Status.isTransient() {
			refusal = refused.Status
		} else if refused != nil || isOneOf(err, ErrWrongReply, StatusPruned, ErrWrongNetwork) {
			return FeedPart{}, err
		}
		select {
		case <-time.After(backoff(feedPause, pauseAtMost, attempt)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			cause := context.Cause(ctx)
			if refused == nil {
				cause = fmt.Errorf("%w; the last connection: %w", cause, err)
			}
			return FeedPart{}, &UnansweredError{nil, cause, refusal}
		}
	}
}

func isOneOf(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// receiveOnce reads a frame of the present connection, or of a new one.
func (f *Feed) receiveOnce(ctx context.Context) (FeedPart, error) {
	if f.connection == nil {
		if err := f.subscribe(ctx); err != nil {
			return FeedPart{}, err
		}
	}
	frame, err := f.readWithin(ctx)
	if err != nil {
		return FeedPart{}, err
	}
	return f.parse(frame)
}

// readWithin reads a frame. The end of the context ends it.
func (f *Feed) readWithin(ctx context.Context) ([]byte, error) {
	connection := f.connection
	connection.SetReadDeadline(time.Now().Add(feedSilence))
	stop := context.AfterFunc(ctx, func() { connection.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	return f.read()
}

// subscribe connects, checks the network, and requests the feed. Sequences of another ledger mean other operations.
func (f *Feed) subscribe(ctx context.Context) error {
	dial, cancel := context.WithTimeout(ctx, feedSilence)
	connection, err := f.options.Dial(dial, "tcp", f.node)
	cancel()
	if err != nil {
		return err
	}
	f.connection = connection
	peer := link{connection, false, feedSilence}
	f.read = peer.reader()
	if err := peer.write(newFrame(frameTypeInfo, feedGreetingID, infoFrameSize)); err != nil {
		return err
	}
	frame, err := f.readWithin(ctx)
	if err != nil {
		return err
	}
	reply, err := parseReply(frame)
	switch {
	case err != nil:
		return err
	case reply.id != feedGreetingID:
		return ErrWrongReply
	case reply.status != StatusOk:
		return &RefusedError{reply.status}
	case reply.kind != frameTypeInfo:
		return ErrWrongReply
	}
	var info infoFrame
	info.read(frame)
	network := NetworkID(info.Network)
	if f.network != nil && *f.network != network {
		return fmt.Errorf("%w: %s has %x, not %x", ErrWrongNetwork, f.node, network, *f.network)
	}
	f.network = &network
	request := newFrame(frameTypeFeed, feedRequestID, feedFrameSize)
	fixed := feedFrame{Promise: f.options.Promise, Cursor: f.cursor}
	fixed.Header.read(request[prefixSize:])
	if f.account != nil {
		fixed.Flags, fixed.Account = feedOfAccount, *f.account
	}
	fixed.write(request[prefixSize:])
	return peer.write(request)
}

// parse checks that a frame continues at the cursor, and advances it.
func (f *Feed) parse(frame []byte) (FeedPart, error) {
	reply, err := parseReply(frame)
	switch {
	case err != nil:
		return FeedPart{}, err
	case reply.id != feedRequestID || reply.kind != 0 && reply.kind != frameTypeFeed:
		return FeedPart{}, ErrWrongReply
	case reply.kind == 0:
		return FeedPart{}, &RefusedError{reply.status}
	}
	var fixed feedFrame
	fixed.read(frame)
	switch fixed.Status {
	case StatusOk:
	case StatusPruned:
		return FeedPart{}, &PrunedError{f.cursor, fixed.First}
	default:
		return FeedPart{}, &RefusedError{fixed.Status}
	}
	if fixed.Signed != 0 {
		return FeedPart{}, malformed("the feed has signatures, which were not requested")
	}
	part := FeedPart{
		Entries: make([]FeedEntry, fixed.Count), Promise: fixed.Promise, Cursor: fixed.Cursor,
		Durable: fixed.Durable, Finalized: fixed.Finalized,
	}
	if fixed.Count > 0 {
		part.Time = time.UnixMicro(int64(fixed.Timestamp))
	}
	expected := f.cursor
	for i := range part.Entries {
		var entry feedEntry
		entry.read(frame[feedFrameSize+i*feedEntrySize:])
		isNext := entry.Sequence == expected
		if f.account != nil {
			isNext = entry.Sequence >= expected && (entry.Operation.Source == *f.account || entry.Operation.Destination == *f.account)
		}
		if !isNext || entry.Sequence >= fixed.Cursor || !entry.Operation.Status.isKnown() {
			return FeedPart{}, malformed("the feed continues with operation %d, not %d", entry.Sequence, expected)
		}
		part.Entries[i] = FeedEntry(entry)
		expected = entry.Sequence + 1
	}
	if fixed.Cursor < expected || f.account == nil && fixed.Cursor != expected {
		return FeedPart{}, malformed("the feed's cursor is %d after operation %d", fixed.Cursor, expected-1)
	}
	f.cursor = fixed.Cursor
	return part, nil
}

func (f *Feed) disconnect() {
	if f.connection != nil {
		f.connection.Close()
		f.reconnections++
	}
	f.connection = nil
}
