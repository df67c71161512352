package turnpike

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

func startFeed(t testing.TB, node string, cursor uint64, options Options) *Feed {
	t.Helper()
	if options.Timeout == 0 {
		options.Timeout = patience
	}
	feed := must(NewFeed(node, cursor, options))(t)
	t.Cleanup(func() { feed.Close() })
	return feed
}

// collect receives up to an operation, and checks what each part says about itself.
func collect(t testing.TB, feed *Feed, last uint64) (entries []FeedEntry) {
	t.Helper()
	for feed.Cursor() <= last {
		part := must(feed.Receive(testContext(t)))(t)
		if part.Cursor != feed.Cursor() || part.Promise != PromiseDurable {
			t.Fatalf("%+v", part)
		}
		for _, entry := range part.Entries {
			if entry.Sequence > part.Durable || part.Time.IsZero() {
				t.Fatalf("%+v in %+v", entry, part)
			}
		}
		entries = append(entries, part.Entries...)
	}
	return entries
}

func TestFeed(t *testing.T) {
	t.Parallel()
	node := startNode(t)
	ctx, client := testContext(t), connect(t, Options{}, node.address)
	alice, bob, carol := Account(1), Account(2), Account(3)
	must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Create(carol), Issue(alice, 1000)}))(t)
	paid := must(client.Transfer(ctx, alice, bob, 250))(t)
	if _, err := client.Transfer(ctx, alice, bob, 10_000); !errors.Is(err, StatusInsufficientBalance) {
		t.Error(err)
	}
	// The address of UDP names the same node.
	feed := startFeed(t, "udp://"+node.address, 1, Options{})
	entries := collect(t, feed, 6)
	for i, entry := range entries {
		if entry.Sequence != uint64(i)+1 {
			t.Errorf("%+v", entries)
		}
	}
	if entries[4].Operation.Transaction != paid.Transaction || entries[4].Value != 750 || entries[4].Operation.Amount != 250 {
		t.Errorf("%+v", entries[4])
	}
	if entries[5].Operation.Status != StatusInsufficientBalance || entries[5].Value != 750 {
		t.Errorf("%+v", entries[5])
	}
	if part := must(feed.Receive(ctx))(t); len(part.Entries) != 0 || !part.Time.IsZero() {
		t.Errorf("%+v is not a heartbeat", part)
	}
	if of := collect(t, startFeed(t, node.address, 2, Options{}).OfAccount(carol), 6); len(of) != 1 || of[0].Sequence != 3 {
		t.Errorf("%+v", of)
	}
	if _, err := startFeed(t, node.address, 8, Options{}).Receive(ctx); !errors.Is(err, StatusNotFound) {
		t.Error(err)
	}
	if _, err := startFeed(t, node.address, 1, Options{}).OfNetwork(NetworkID{1}).Receive(ctx); !errors.Is(err, ErrWrongNetwork) {
		t.Error(err)
	}
	// A context that ends loses nothing. The next heartbeat is a second away.
	must(feed.Receive(ctx))(t)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := feed.Receive(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	must(client.Transfer(ctx, alice, bob, 1))(t)
	if next := collect(t, feed, 7); len(next) != 1 || next[0].Value != 749 {
		t.Errorf("%+v", next)
	}
	node.kill()
	var unanswered *UnansweredError
	_, err := startFeed(t, node.address, 1, Options{Timeout: 300 * time.Millisecond}).Receive(ctx)
	if !errors.As(err, &unanswered) || !errors.Is(err, ErrNoReply) {
		t.Error(err)
	}
	feed.Close()
	if _, err := feed.Receive(ctx); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestFeedOverKills kills the node three times under load: the feed has each operation once, and so has another one that
// continues at its cursor.
func TestFeedOverKills(t *testing.T) {
	t.Parallel()
	node := startNode(t)
	client := connect(t, Options{RetryAfter: 100 * time.Millisecond}, node.address)
	m, stop := newModel(t, client), new(atomic.Bool)
	group := m.load(t, client, stop)
	feed := startFeed(t, node.address, 1, Options{})
	var entries []FeedEntry
	for range 3 {
		entries = append(entries, collect(t, feed, feed.Cursor()+500)...)
		node.kill()
		node.start()
	}
	stop.Store(true)
	group.Wait()
	m.check(t, client)
	last := must(client.Info(testContext(t)))(t).DurableSequence
	entries = append(entries, collect(t, startFeed(t, node.address, feed.Cursor(), Options{}), last)...)
	balances := make(map[AccountID]int64)
	for i, entry := range entries {
		if entry.Sequence != uint64(i)+1 {
			t.Fatalf("operation %d follows %d", entry.Sequence, i)
		}
		switch amount := int64(entry.Operation.Amount); entry.Operation.Command {
		case CommandIssue:
			balances[entry.Operation.Source] += amount
		case CommandTransfer:
			balances[entry.Operation.Source] -= amount
			balances[entry.Operation.Destination] += amount
		}
	}
	for i, expected := range m.balances {
		if balances[m.account(i)] != expected {
			t.Errorf("account %d has %d by the feed, not %d", i, balances[m.account(i)], expected)
		}
	}
	if feed.Reconnections() == 0 || len(entries) != int(last) {
		t.Errorf("%d reconnections, %d operations of %d", feed.Reconnections(), len(entries), last)
	}
}

// TestSlowFeed reads nothing while the node has more than all buffers hold: the error names the reason, and the feed
// continues at its cursor.
func TestSlowFeed(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "turnpike.toml")
	if err := os.WriteFile(config, []byte("[limits]\nframe_timeout = 1000\nfeeds = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, "--config", config)
	ctx, client := testContext(t), connect(t, Options{}, node.address)
	alice, bob := Account(1), Account(2)
	must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Issue(alice, 1_000_000_000)}))(t)
	const count = 200_000
	operations := make([]Operation, count)
	for i := range operations {
		operations[i] = Transfer(alice, bob, 1)
	}
	must(client.ExecuteBatch(ctx, operations))(t)
	// The node serves one feed.
	only := startFeed(t, node.address, 1, Options{})
	must(only.Receive(ctx))(t)
	if _, err := startFeed(t, node.address, 1, Options{Timeout: 2 * time.Second}).Receive(ctx); !errors.Is(err, StatusBusy) {
		t.Error(err)
	}
	only.Close()
	// On a busy machine the node may close the connection before its last frame is read; then the feed continues without
	// an error.
	for range 5 {
		feed := startFeed(t, node.address, 1, Options{})
		received := len(must(feed.Receive(ctx))(t).Entries)
		time.Sleep(1500 * time.Millisecond)
		slow := 0
		for feed.Cursor() <= count+3 {
			part, err := feed.Receive(ctx)
			if errors.Is(err, StatusTooSlow) {
				slow++
				continue
			}
			received += len(must(part, err)(t).Entries)
		}
		feed.Close()
		if received != count+3 {
			t.Errorf("%d operations of %d", received, count+3)
		}
		if slow > 0 {
			return
		}
	}
	t.Error("the node never reported that the feed is slow")
}

// feedReply returns a frame of a feed.
func feedReply(fixed feedFrame, sequences ...uint64) []byte {
	frame := newFrame(frameTypeFeed|replyBit, feedRequestID, feedFrameSize+len(sequences)*feedEntrySize)[prefixSize:]
	fixed.Header.read(frame)
	fixed.Promise = PromiseDurable
	if fixed.Count == 0 {
		fixed.Count = uint16(len(sequences))
	}
	fixed.write(frame)
	for i, sequence := range sequences {
		entry := feedEntry{sequence, Transfer(Account(1), Account(2), 3), 4}
		entry.write(frame[feedFrameSize+i*feedEntrySize:])
	}
	return frame
}

// TestFaultyFeed refuses operations that do not continue at the cursor, whatever the frame says.
func TestFaultyFeed(t *testing.T) {
	t.Parallel()
	garbled := feedReply(feedFrame{Cursor: 6}, 5)
	garbled[feedFrameSize+8+2] = 0xff // a status that nobody knows
	for name, reply := range map[string][]byte{
		"repeats":        feedReply(feedFrame{Cursor: 7}, 5, 5),
		"skips":          feedReply(feedFrame{Cursor: 7}, 6),
		"stands still":   feedReply(feedFrame{Cursor: 5}, 5),
		"skips the next": feedReply(feedFrame{Cursor: 7}, 5),
		"ends early":     feedReply(feedFrame{Cursor: 6, Count: 2}, 5),
		"garbles":        garbled,
		"cuts":           feedReply(feedFrame{Cursor: 6}, 5)[:71],
		"is empty":       {},
	} {
		feed := startFeed(t, startFakeFeed(t, reply), 5, Options{})
		if _, err := feed.Receive(testContext(t)); !errors.Is(err, ErrWrongReply) || feed.Cursor() != 5 {
			t.Errorf("%s: %v", name, err)
		}
	}
	feed := startFeed(t, startFakeFeed(t, feedReply(feedFrame{Status: StatusPruned, First: 1234})), 5, Options{})
	var pruned *PrunedError
	if _, err := feed.Receive(testContext(t)); !errors.As(err, &pruned) || pruned.First != 1234 || !errors.Is(err, StatusPruned) {
		t.Error(err)
	}
	for _, cursor := range []uint64{0, 1} {
		if _, err := NewFeed(map[uint64]string{0: "localhost", 1: "a:b:c"}[cursor], cursor, Options{}); err == nil {
			t.Error("a wrong argument was accepted")
		}
	}
}

// startFakeFeed starts a node that answers the question for the network, and then with one frame.
func startFakeFeed(t *testing.T, reply []byte) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		input, buffer := bufio.NewReader(connection), make([]byte, maxFrame)
		if _, err := readFrame(input, buffer); err != nil {
			return
		}
		connection.Write(newFrame(frameTypeInfo|replyBit, feedGreetingID, infoFrameSize))
		if _, err := readFrame(input, buffer); err != nil {
			return
		}
		frame := newFrame(0, 0, max(len(reply), frameHeaderSize))
		copy(frame[prefixSize:], reply)
		frame[2], frame[3] = byte(len(reply)>>8), byte(len(reply))
		connection.Write(frame[:prefixSize+len(reply)])
		readFrame(input, buffer)
	}()
	return listener.Addr().String()
}

// FuzzFeed parses frames of a feed.
func FuzzFeed(f *testing.F) {
	f.Add(feedReply(feedFrame{Cursor: 6}, 5), uint64(5))
	f.Add(feedReply(feedFrame{Status: StatusTooSlow}), uint64(1))
	f.Fuzz(func(t *testing.T, frame []byte, cursor uint64) {
		feed := &Feed{cursor: cursor}
		part, err := feed.parse(frame)
		if (err == nil) != (feed.cursor == part.Cursor && err == nil) || err == nil && part.Cursor-cursor != uint64(len(part.Entries)) {
			t.Errorf("cursor %s, %+v, %v", strconv.FormatUint(cursor, 10), part, err)
		}
	})
}
