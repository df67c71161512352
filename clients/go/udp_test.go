package turnpike

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lossyRelay relays datagrams between one client and a node. It loses, repeats and reorders them, in both directions.
type lossyRelay struct {
	near, far *net.UDPConn
	address   string
	client    atomic.Pointer[net.UDPAddr]

	mutex                     sync.Mutex
	random                    *rand.Rand
	lost, repeated, reordered int
	longest                   int
}

func startLossyRelay(t *testing.T, node string, seed uint64) *lossyRelay {
	t.Helper()
	near := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	far := must(net.DialUDP("udp", nil, must(net.ResolveUDPAddr("udp", node))(t)))(t)
	r := &lossyRelay{near: near, far: far, address: "udp://" + near.LocalAddr().String(), random: rand.New(rand.NewPCG(seed, seed))}
	var group sync.WaitGroup
	group.Add(2)
	go func() {
		defer group.Done()
		r.run(func(buffer []byte) (int, error) {
			length, client, err := near.ReadFromUDP(buffer)
			r.client.Store(client)
			r.mutex.Lock()
			r.longest = max(r.longest, length)
			r.mutex.Unlock()
			return length, err
		}, func(datagram []byte) { far.Write(datagram) })
	}()
	go func() {
		defer group.Done()
		r.run(far.Read, func(datagram []byte) { near.WriteToUDP(datagram, r.client.Load()) })
	}()
	t.Cleanup(func() {
		near.Close()
		far.Close()
		group.Wait()
	})
	return r
}

// run relays datagrams in one direction until the socket is closed.
func (r *lossyRelay) run(read func([]byte) (int, error), send func([]byte)) {
	buffer := make([]byte, maxFrame)
	var held []byte // others overtake it
	for {
		length, err := read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the node is down
		}
		datagram := append([]byte(nil), buffer[:length]...)
		r.mutex.Lock()
		chance := r.random.Float64()
		isLost, isHeld, isRepeated := chance < 0.1, chance >= 0.1 && chance < 0.2 && held == nil, chance > 0.9
		for count, is := range map[*int]bool{&r.lost: isLost, &r.reordered: isHeld, &r.repeated: isRepeated} {
			if is {
				*count++
			}
		}
		r.mutex.Unlock()
		switch {
		case isLost:
			continue
		case isHeld:
			held = datagram
			continue
		}
		send(datagram)
		if isRepeated {
			send(datagram)
		}
		if held != nil {
			send(held)
			held = nil
		}
	}
}

// TestUDP gets the same results over UDP as over TCP.
func TestUDP(t *testing.T) {
	t.Parallel()
	node := startNode(t)
	ctx, client := testContext(t), connect(t, Options{}, "udp://"+node.address)
	alice, bob := Account(1), Account(2)
	for _, receipt := range must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Issue(alice, 1000)}))(t) {
		if receipt.Err() != nil || receipt.Promise != PromiseDurable {
			t.Fatalf("%+v", receipt)
		}
	}
	paid := must(client.Transfer(ctx, alice, bob, 250))(t)
	if paid.Value != 750 {
		t.Errorf("%+v", paid)
	}
	if _, err := client.Transfer(ctx, alice, bob, 10_000); !errors.Is(err, StatusInsufficientBalance) {
		t.Error(err)
	}
	// Several datagrams, one after the other.
	batch := make([]Operation, 100)
	for i := range batch {
		batch[i] = Transfer(alice, bob, 1)
	}
	receipts := must(client.ExecuteBatch(ctx, batch))(t)
	if len(receipts) != 100 || receipts[99].Value != 650 {
		t.Errorf("%d receipts", len(receipts))
	}
	network := must(client.Info(ctx))(t).Network
	chain := must(client.OpenChain(ctx, network))(t)
	proved(t, func() (*TransactionProof, error) { return client.ProveTransaction(ctx, chain, paid.Transaction, alice) })
	balance := proved(t, func() (*BalanceProof, error) {
		proof, err := client.ProveBalance(ctx, chain, bob)
		if err == nil && (proof.Entry == nil || proof.Entry.Balance != 350) {
			err = StatusNotFound
		}
		return proof, err
	})
	if balance.Entry.Balance != 350 {
		t.Errorf("%+v", balance.Entry)
	}
}

// TestLongChain sends a linked chain that is longer than a datagram of the path in a longer one.
func TestLongChain(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, "udp://"+startNode(t).address)
	alice, bob := Account(1), Account(2)
	must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Issue(alice, 1000)}))(t)
	for _, last := range []uint64{1, 2000} {
		var operations []Operation
		for range 30 {
			operations = append(operations, Transfer(alice, bob, 1).Linked())
		}
		operations = append(operations, Transfer(alice, bob, last), Refer(alice))
		receipts := must(client.ExecuteBatch(ctx, operations))(t)
		if isDone := receipts[0].Status == StatusOk; isDone != (last == 1) || receipts[31].Value != 969 {
			t.Errorf("%+v, %+v", receipts[0], receipts[31])
		}
	}
}

// TestLossyPath loses, repeats and reorders datagrams under load: no transfer is lost, and none is executed twice. Then
// the node is killed and restarted in the middle.
func TestLossyPath(t *testing.T) {
	t.Parallel()
	node := startNode(t)
	relay := startLossyRelay(t, node.address, 7)
	client := connect(t, Options{RetryAfter: 20 * time.Millisecond}, relay.address)
	m, stop := newModel(t, client), new(atomic.Bool)
	group := m.load(t, client, stop)
	m.waitFor(t, 1000)
	node.kill()
	node.start()
	m.waitFor(t, 1000)
	stop.Store(true)
	group.Wait()
	m.check(t, connect(t, Options{}, node.address))
	relay.mutex.Lock()
	defer relay.mutex.Unlock()
	if min(relay.lost, relay.repeated, relay.reordered) < 10 || relay.longest > ethernetDatagram {
		t.Errorf("%d lost, %d repeated, %d reordered, the longest has %d bytes", relay.lost, relay.repeated, relay.reordered, relay.longest)
	}
}

// TestSilentUDP ends with the typed error of the timeout.
func TestSilentUDP(t *testing.T) {
	t.Parallel()
	silent := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	defer silent.Close()
	client := connect(t, Options{Timeout: 2 * time.Second, RetryAfter: 50 * time.Millisecond}, "udp://"+silent.LocalAddr().String())
	var unanswered *UnansweredError
	_, err := client.Transfer(testContext(t), Account(1), Account(2), 3)
	if !errors.As(err, &unanswered) || !errors.Is(err, ErrNoReply) || len(unanswered.Operations) != 1 {
		t.Error(err)
	}
	// Every attempt had the same bytes.
	var first []byte
	buffer := make([]byte, maxFrame)
	silent.SetReadDeadline(time.Now().Add(patience))
	for range 3 {
		length := must(silent.Read(buffer))(t)
		if first == nil {
			first = append(first, buffer[:length]...)
		} else if string(first) != string(buffer[:length]) {
			t.Error("a repetition has other bytes")
		}
	}
}

// TestDeadUDP leaves a node at once if the kernel reports that nothing listens, and continues over TCP.
func TestDeadUDP(t *testing.T) {
	t.Parallel()
	gone := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	dead := "udp://" + gone.LocalAddr().String()
	gone.Close()
	node := startNode(t)
	began := time.Now()
	client := connect(t, Options{TurnAfter: patience, RetryAfter: 50 * time.Millisecond}, dead, node.address)
	must(client.Create(testContext(t), Account(9)))(t)
	if time.Since(began) > patience/2 {
		t.Error("the client waited for a node that is gone")
	}
}
