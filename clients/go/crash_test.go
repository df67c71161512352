package turnpike

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	modelAccounts = 20
	modelBalance  = 1_000_000
)

// model is what balances must be.
type model struct {
	mutex    sync.Mutex
	balances [modelAccounts]int64
	done     atomic.Int64
}

func newModel(t testing.TB, client *Client) *model {
	t.Helper()
	m := new(model)
	var operations []Operation
	for i := range m.balances {
		m.balances[i] = modelBalance
		operations = append(operations, Create(m.account(i)), Issue(m.account(i), modelBalance))
	}
	for _, receipt := range must(client.ExecuteBatch(testContext(t), operations))(t) {
		if receipt.Err() != nil {
			t.Fatal(receipt.Err())
		}
	}
	return m
}

func (m *model) account(i int) AccountID { return Account(uint64(i) + 1) }

// load executes transfers from several goroutines, one by one and in batches, until it is stopped. Each must succeed:
// none is for more than an account has.
func (m *model) load(t testing.TB, client *Client, stop *atomic.Bool) *sync.WaitGroup {
	ctx, group := testContext(t), new(sync.WaitGroup)
	transfer := func() (operation Operation, apply func()) {
		from := rand.IntN(modelAccounts)
		to, amount := (from+1+rand.IntN(modelAccounts-1))%modelAccounts, 1+rand.IntN(3)
		return Transfer(m.account(from), m.account(to), uint64(amount)), func() {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			m.balances[from] -= int64(amount)
			m.balances[to] += int64(amount)
			m.done.Add(1)
		}
	}
	worker := func(execute func() error) {
		group.Add(1)
		go func() {
			defer group.Done()
			for !stop.Load() {
				if err := execute(); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for range 4 {
		worker(func() error {
			operation, apply := transfer()
			_, err := client.Execute(ctx, operation)
			if err == nil {
				apply()
			}
			return err
		})
	}
	for range 2 {
		worker(func() error {
			operations, applies := make([]Operation, 50), make([]func(), 50)
			for i := range operations {
				operations[i], applies[i] = transfer()
			}
			receipts, err := client.ExecuteBatch(ctx, operations)
			for i, receipt := range receipts {
				if err = receipt.Err(); err != nil {
					break
				}
				applies[i]()
			}
			return err
		})
	}
	return group
}

// waitFor waits until that many more transfers are done.
func (m *model) waitFor(t testing.TB, count int64) {
	t.Helper()
	target := m.done.Load() + count
	for deadline := time.Now().Add(patience); m.done.Load() < target; time.Sleep(time.Millisecond) {
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("only %d transfers are done", m.done.Load())
		}
	}
}

// check compares all balances, and their sum.
func (m *model) check(t testing.TB, client *Client) {
	t.Helper()
	var sum uint64
	for i, expected := range m.balances {
		balance := must(client.Balance(testContext(t), m.account(i)))(t)
		sum += balance
		if balance != uint64(expected) {
			t.Errorf("account %d has %d, not %d", i, balance, expected)
		}
	}
	if sum != modelAccounts*modelBalance {
		t.Errorf("the balances are %d in all", sum)
	}
}

// TestKilledNode kills the node in the middle of a load and restarts it, three times: no transfer is lost, and none is
// executed twice.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	node := startNode(t)
	client := connect(t, Options{RetryAfter: 100 * time.Millisecond}, node.address)
	m, stop := newModel(t, client), new(atomic.Bool)
	group := m.load(t, client, stop)
	for range 3 {
		m.waitFor(t, 500)
		node.kill()
		node.start()
	}
	m.waitFor(t, 500)
	stop.Store(true)
	group.Wait()
	m.check(t, client)
}

// replica is a line of `turnpike cluster status`.
type replica struct {
	Listen, Network string
	Process         int
}

// startCluster starts four replicas, and stops them at the end of the test.
func startCluster(t *testing.T) []replica {
	t.Helper()
	path, folder := program(t), filepath.Join(t.TempDir(), "cluster")
	run := func(arguments ...string) []byte {
		t.Helper()
		var errors bytes.Buffer
		command := exec.Command(path, append([]string{"--json", "cluster"}, append(arguments, "--dir", folder)...)...)
		command.Stderr = &errors
		output, err := command.Output()
		if err != nil {
			t.Fatalf("turnpike cluster %v: %v\n%s%s", arguments, err, output, errors.Bytes())
		}
		return output
	}
	run("init", "--port", "0", "--trusted", "127.0.0.0/8", "--accounts", "10000")
	configs, err := filepath.Glob(filepath.Join(folder, "*", "turnpike.toml"))
	if err != nil || len(configs) != 4 {
		t.Fatal(configs, err)
	}
	for _, config := range configs {
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("retry_seconds = 10\n"), []byte("retry_seconds = 600\n"), 1)
		if err := os.WriteFile(config, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { run("stop") })
	run("start")
	var replicas []replica
	for lines := bufio.NewScanner(bytes.NewReader(run("status"))); lines.Scan(); {
		var one replica
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, one)
	}
	if len(replicas) != 4 {
		t.Fatalf("%+v", replicas)
	}
	return replicas
}

// TestCluster kills the replica that the client uses in the middle of a load at promise final. The client turns to the
// next one: no transfer is lost, and none is executed twice. Then it proves a balance with a certificate.
func TestCluster(t *testing.T) {
	t.Parallel()
	replicas := startCluster(t)
	var nodes []string
	for _, replica := range replicas {
		nodes = append(nodes, replica.Listen)
	}
	ctx, client := testContext(t), connect(t, Options{Promise: PromiseFinal}, nodes...)
	m, stop := newModel(t, client), new(atomic.Bool)
	group := m.load(t, client, stop)
	m.waitFor(t, 500)
	process := must(os.FindProcess(replicas[0].Process))(t)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	m.waitFor(t, 500)
	stop.Store(true)
	group.Wait()
	receipt := must(client.Transfer(ctx, m.account(0), m.account(1), 1))(t)
	if receipt.Promise != PromiseFinal {
		t.Errorf("%+v", receipt)
	}
	m.balances[0], m.balances[1] = m.balances[0]-1, m.balances[1]+1
	m.check(t, client)

	network := NetworkID(unhex(t, replicas[0].Network))
	chain := must(client.OpenChain(ctx, network))(t)
	transaction := proved(t, func() (*TransactionProof, error) {
		return client.ProveTransaction(ctx, chain, receipt.Transaction, m.account(0))
	})
	balance := proved(t, func() (*BalanceProof, error) {
		proof, err := client.ProveBalance(ctx, chain, m.account(1))
		if err == nil && (proof.Height < transaction.Height) {
			err = StatusNotFound
		}
		return proof, err
	})
	if balance.Entry == nil || balance.Entry.Balance != uint64(m.balances[1]) {
		t.Errorf("%+v", balance)
	}
	encoded := chain.Encode()
	restored := must(RestoreChain(network, encoded))(t)
	must(restored.VerifyBalance(m.account(1), balance.Reply))(t)
	for range 200 {
		changed := bytes.Clone(encoded)
		changed[rand.IntN(len(changed))] ^= byte(1 + rand.IntN(255))
		if other, err := RestoreChain(network, changed); err == nil && other.TipHash() != restored.TipHash() {
			t.Error("a changed chain was accepted")
		}
	}
	// Without the certificate nobody vouches for the headers.
	if other, err := RestoreChain(network, encoded[:len(chain.headers)*SealedHeaderSize]); err == nil {
		if _, err := other.VerifyBalance(m.account(1), balance.Reply); !errors.Is(err, ErrUnknownBlock) {
			t.Error(err)
		}
	}
}
