package turnpike

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeNode is a node in the test's process, with a ledger of balances, that treats replies as its fault says.
type fakeNode struct {
	listener net.Listener
	// fault sends the reply to a request, or does something else. Nil never answers.
	fault func(send func(frame []byte), reply []byte)
	// refuse returns a status for an operation, or StatusOk to execute it.
	refuse func() Status

	mutex    sync.Mutex
	balances map[AccountID]uint64
	results  map[TransactionID]Operation
	executed int
}

// startFake starts a fake node, and ends it with the test.
func startFake(t testing.TB, fault func(send func([]byte), reply []byte)) *fakeNode {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeNode{listener: listener, fault: fault, balances: map[AccountID]uint64{}, results: map[TransactionID]Operation{}}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(connection)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return f
}

func (f *fakeNode) address() string { return f.listener.Addr().String() }

func (f *fakeNode) serve(connection net.Conn) {
	defer connection.Close()
	input := bufio.NewReader(connection)
	var mutex sync.Mutex
	send := func(frame []byte) {
		mutex.Lock()
		defer mutex.Unlock()
		if frame == nil {
			connection.Close()
			return
		}
		connection.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	}
	buffer := make([]byte, maxFrame)
	for {
		frame, err := readFrame(input, buffer)
		if err != nil {
			return
		}
		if reply := f.reply(bytes.Clone(frame)); f.fault != nil {
			f.fault(send, reply)
		}
	}
}

// reply executes a request, and turns it into its reply.
func (f *fakeNode) reply(frame []byte) []byte {
	var header frameHeader
	header.read(frame)
	frame[3] |= replyBit
	if frameType(header.Kind) == frameTypeInfo {
		info := infoFrame{Header: header, RetryMilliseconds: 200}
		info.Header.Kind |= replyBit
		info.write(frame)
		return frame
	}
	if frameType(header.Kind) != frameTypeBatch {
		return frame
	}
	var batch batchHeader
	batch.read(frame)
	batch.Promise = PromiseDurable
	batch.write(frame)
	for at := batchHeaderSize; at < len(frame); at += operationSize {
		var operation Operation
		operation.read(frame[at:])
		result := f.execute(operation)
		result.write(frame[at:])
	}
	return frame
}

func (f *fakeNode) execute(operation Operation) Operation {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if result, isRetry := f.results[operation.Transaction]; isRetry {
		return result
	}
	if f.refuse != nil {
		if operation.Status = f.refuse(); operation.Status != StatusOk {
			return operation
		}
	}
	if operation.Command == CommandTransfer {
		f.balances[operation.Source] -= operation.Amount
		f.balances[operation.Destination] += operation.Amount
	}
	operation.Amount = f.balances[operation.Source]
	f.results[operation.Transaction] = operation
	f.executed++
	return operation
}

func honest(send func([]byte), reply []byte) { send(reply) }

// garble changes a byte whose change a client can notice: of the header, or of an entry's command or ids.
func garble(reply []byte) []byte {
	at := rand.IntN(11)
	if entries := len(reply) - batchHeaderSize; entries > 0 && rand.IntN(2) == 0 {
		at = batchHeaderSize + rand.IntN(entries/operationSize)*operationSize + 8 + rand.IntN(32)
	}
	reply[at] ^= byte(1 + rand.IntN(255))
	return reply
}

// TestFaultyNode loses, delays, duplicates, garbles and cuts off replies, and refuses operations: each is executed once.
func TestFaultyNode(t *testing.T) {
	t.Parallel()
	fake := startFake(t, func(send func([]byte), reply []byte) {
		switch rand.IntN(12) {
		case 0: // lost
		case 1:
			time.AfterFunc(rand.N(100*time.Millisecond), func() { send(reply) })
		case 2:
			send(reply)
			send(reply)
		case 3:
			send(garble(reply))
		case 4:
			send(reply[:rand.IntN(len(reply))])
		case 5:
			send(nil)
		case 6:
			refusal := bytes.Clone(reply[:batchHeaderSize])
			var header batchHeader
			header.read(refusal)
			header.Status = StatusBusy
			header.write(refusal)
			send(refusal)
		default:
			send(reply)
		}
	})
	fake.refuse = func() Status {
		return []Status{StatusOk, StatusOk, StatusOk, StatusBusy, StatusNotFinal, StatusRateLimited}[rand.IntN(6)]
	}
	const callers, transfers = 16, 50
	client := connect(t, Options{RetryAfter: 20 * time.Millisecond, TurnAfter: 100 * time.Millisecond, Window: 4}, fake.address())
	ctx := testContext(t)
	var group sync.WaitGroup
	for caller := range callers {
		group.Add(1)
		go func() {
			defer group.Done()
			own := Account(uint64(caller) + 1)
			for i := range transfers {
				operations := []Operation{Transfer(Account(99), own, 1), Transfer(Account(99), own, 2)}
				if i%2 == 0 {
					operations = operations[:1]
					receipt, err := client.Execute(ctx, operations[0])
					if err != nil || receipt.Promise != PromiseDurable {
						t.Errorf("%+v: %v", receipt, err)
					}
				} else if _, err := client.ExecuteBatch(ctx, operations); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	for caller := range callers {
		if balance := fake.balances[Account(uint64(caller)+1)]; balance != transfers/2*(1+3) {
			t.Errorf("caller %d received %d", caller, balance)
		}
	}
	if fake.executed != callers*transfers/2*3 {
		t.Errorf("%d operations were executed", fake.executed)
	}
}

// TestCallersShareFrames fills the window with one frame. What callers submit meanwhile goes out in one frame for each
// promise.
func TestCallersShareFrames(t *testing.T) {
	t.Parallel()
	const callers = 500
	frames, release := make(chan int, 2*callers), make(chan struct{})
	fake := startFake(t, func(send func([]byte), reply []byte) {
		frames <- (len(reply) - batchHeaderSize) / operationSize
		<-release
		send(reply)
	})
	ctx, client := testContext(t), connect(t, Options{Window: 1, RetryAfter: patience, TurnAfter: patience}, fake.address())
	var group sync.WaitGroup
	submit := func(client *Client) {
		group.Add(1)
		go func() {
			defer group.Done()
			if _, err := client.Transfer(ctx, Account(1), Account(2), 1); err != nil {
				t.Error(err)
			}
		}()
	}
	submit(client)
	if count := <-frames; count != 1 {
		t.Errorf("the first frame has %d operations", count)
	}
	for range callers {
		submit(client)
		submit(client.WithPromise(PromiseAccepted))
	}
	for deadline := time.Now().Add(patience); len(client.calls) < 2*callers; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d callers wait", len(client.calls))
		}
	}
	close(release)
	group.Wait()
	if one, two := <-frames, <-frames; one != callers || two != callers || len(frames) > 0 {
		t.Errorf("the next frames have %d and %d operations, and %d more came", one, two, len(frames))
	}
}

// TestUnusableNodes names nodes that are dead, silent or faulty before one that answers.
func TestUnusableNodes(t *testing.T) {
	t.Parallel()
	dead, _ := freeAddresses()
	silent := startFake(t, nil)
	faulty := startFake(t, func(send func([]byte), reply []byte) { send([]byte("HTTP/1.1 400 Bad Request")) })
	good := startFake(t, honest)
	for _, nodes := range [][]string{
		{dead, good.address()}, {silent.address(), good.address()}, {faulty.address(), good.address()},
		{dead, silent.address(), faulty.address(), good.address()},
	} {
		client := connect(t, Options{TurnAfter: 50 * time.Millisecond}, nodes...)
		must(client.Create(testContext(t), Account(1)))(t)
	}
}

// TestReconnects ends the connection while nothing is in flight, as nodes do after a minute.
func TestReconnects(t *testing.T) {
	t.Parallel()
	fake := startFake(t, func(send func([]byte), reply []byte) {
		send(reply)
		send(nil)
	})
	client := connect(t, Options{}, fake.address())
	for range 20 {
		must(client.Create(testContext(t), Account(1)))(t)
	}
	if fake.executed != 20 {
		t.Errorf("%d operations were executed", fake.executed)
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	received := make(chan struct{}, 1000)
	fake := startFake(t, func(func([]byte), []byte) { received <- struct{}{} })
	client := connect(t, Options{Window: 1, Queue: 1, RetryAfter: 10 * time.Millisecond}, fake.address())
	for range 3 {
		// The window has one place, so a request that nobody waits for must release it.
		ctx, cancel := context.WithCancel(testContext(t))
		results := make(chan error)
		go func() {
			_, err := client.Transfer(ctx, Account(1), Account(2), 3)
			results <- err
		}()
		<-received
		cancel()
		err := <-results
		var unanswered *UnansweredError
		if !errors.Is(err, context.Canceled) || !errors.As(err, &unanswered) || len(unanswered.Operations) != 1 ||
			unanswered.Operations[0].Amount != 3 || unanswered.Operations[0].Transaction == (TransactionID{}) {
			t.Fatalf("%v", err)
		}
	}
	// A call that was cancelled before does not get that far.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := client.ExecuteBatch(ctx, make([]Operation, 10)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	dead, _ := freeAddresses()
	client := connect(t, Options{Timeout: 50 * time.Millisecond}, dead)
	if _, err := client.Transfer(context.Background(), Account(1), Account(2), 3); !errors.Is(err, ErrNoReply) {
		t.Error(err)
	}
	busy := startFake(t, honest)
	busy.refuse = func() Status { return StatusBusy }
	client = connect(t, Options{Timeout: 200 * time.Millisecond}, busy.address())
	_, err := client.Transfer(context.Background(), Account(1), Account(2), 3)
	if !errors.Is(err, ErrNoReply) || !errors.Is(err, StatusBusy) {
		t.Error(err)
	}
	if _, err := client.ExecuteBatch(context.Background(), []Operation{Create(Account(1))}); !errors.Is(err, StatusBusy) {
		t.Error(err)
	}
}

// TestUntimedOperations ends retries of ids without a time before the node forgets them, long before the timeout.
func TestUntimedOperations(t *testing.T) {
	t.Parallel()
	var isLost atomic.Bool
	fake := startFake(t, func(send func([]byte), reply []byte) {
		if !isLost.Load() || reply[3] != uint8(frameTypeBatch)|replyBit {
			send(reply)
		}
	})
	client := connect(t, Options{Timeout: 100 * patience, RetryAfter: 10 * time.Millisecond}, fake.address())
	operation := Transfer(Account(1), Account(2), 3).WithID(TransactionID{7})
	must(client.Execute(testContext(t), operation))(t)
	isLost.Store(true)
	operation.Transaction[0]++
	if _, err := client.Execute(testContext(t), operation); !errors.Is(err, ErrNoReply) {
		t.Error(err)
	}
	fake.mutex.Lock()
	defer fake.mutex.Unlock()
	if fake.executed != 2 {
		t.Errorf("%d operations were executed", fake.executed)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	fake := startFake(t, func(send func([]byte), reply []byte) {
		refusal := make([]byte, errorFrameSize)
		var frame errorFrame
		frame.Header.read(reply)
		frame.Header.Kind, frame.Status = errorType, StatusUnsupportedVersion
		frame.write(refusal)
		send(refusal)
	})
	client := connect(t, Options{}, fake.address())
	var refused *RefusedError
	if _, err := client.Create(testContext(t), Account(1)); !errors.As(err, &refused) || !errors.Is(err, StatusUnsupportedVersion) {
		t.Error(err)
	}
	if _, err := client.Info(testContext(t)); !errors.Is(err, StatusUnsupportedVersion) {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	received := make(chan struct{}, 1000)
	fake := startFake(t, func(func([]byte), []byte) { received <- struct{}{} })
	before := runtime.NumGoroutine()
	client := connect(t, Options{}, fake.address())
	results := make(chan error)
	go func() {
		_, err := client.Transfer(context.Background(), Account(1), Account(2), 3)
		results <- err
	}()
	<-received
	client.Close()
	if err := <-results; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := client.Info(context.Background()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	client.Close()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("goroutines are left")
		}
	}
}

func TestOptions(t *testing.T) {
	for _, options := range []Options{
		{Timeout: -1}, {RetryAfter: -1}, {TurnAfter: -1}, {Window: -1}, {Window: 1 << 20}, {Queue: -1}, {Promise: 4},
		{Datagram: -1}, {Datagram: 255}, {Datagram: 65508},
	} {
		var invalid *OptionError
		if _, err := New([]string{"localhost"}, options); !errors.As(err, &invalid) {
			t.Errorf("%+v: %v", options, err)
		}
	}
	for _, nodes := range [][]string{nil, {""}, {":7400"}, {"a:b:c"}, {"udp://"}, {"tcp://a:1"}, {"udp://a/b"}} {
		if complete, err := addresses(nodes); err == nil {
			t.Errorf("%q became %q", nodes, complete)
		}
	}
	complete, err := addresses([]string{"localhost", "::1", "[::1]", "10.0.0.1:7500", "udp://localhost", "udp://[::1]:7500"})
	expected := []endpoint{{"tcp", "localhost:7400"}, {"tcp", "[::1]:7400"}, {"tcp", "[::1]:7400"}, {"tcp", "10.0.0.1:7500"},
		{"udp", "localhost:7400"}, {"udp", "[::1]:7500"}}
	if err != nil || !slices.Equal(complete, expected) {
		t.Errorf("%v, %v", complete, err)
	}
}
