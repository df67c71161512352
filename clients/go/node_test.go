package turnpike

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a test waits for anything: the machine may be busy.
const patience = 60 * time.Second

// program returns the path of the node's program, or skips the test.
func program(t testing.TB) string {
	t.Helper()
	candidates := []string{os.Getenv("TURNPIKE"), root + "/target/release/turnpike", root + "/target/debug/turnpike"}
	for _, candidate := range candidates {
		if _, err := os.Stat(candidate); candidate != "" && err == nil {
			path, err := filepath.Abs(candidate)
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("the program turnpike was not found: build it, or set TURNPIKE")
	}
	t.Skip("the program turnpike was not found: build it, or set TURNPIKE")
	return ""
}

// freeAddresses returns two addresses that nobody uses: ports outside of the range that the system assigns, on a random
// address of loopback, so that tests do not take each other's.
func freeAddresses() (service, metrics string) {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))
	return host + ":20000", host + ":20001"
}

// node is a process of the program.
type node struct {
	t       testing.TB
	command []string
	address string
	process *exec.Cmd
	log     *os.File
}

// startNode starts a node on loopback with an empty ledger, and stops it at the end of the test. The secret key of the
// vectors may issue. Further arguments are those of the program.
func startNode(t testing.TB, arguments ...string) *node {
	t.Helper()
	path, folder := program(t), t.TempDir()
	signer, err := NewSigner(secretKey(), NetworkID{})
	if err != nil {
		t.Fatal(err)
	}
	public := signer.PublicKey()
	config := filepath.Join(folder, "turnpike.toml")
	// However busy the machine is, the node recognises every retry of a test.
	text := fmt.Sprintf("issuers = [%q]\n[ledger]\nretry_seconds = 600\nfreezing = true\n[blocks]\ninterval = 100\n", hex.EncodeToString(public[:]))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	address, metrics := freeAddresses()
	n := &node{t: t, address: address, log: log, command: []string{path, "serve", "--data",
		filepath.Join(folder, "data"), "--listen", address, "--http", metrics, "--trusted", "127.0.0.0/8",
		"--accounts", "100000"}}
	if len(arguments) == 0 {
		arguments = []string{"--config", config}
	}
	n.command = append(n.command, arguments...)
	n.start()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the node's log:\n%s", text)
		}
	})
	return n
}

func (n *node) start() {
	n.t.Helper()
	n.process = exec.Command(n.command[0], n.command[1:]...)
	n.process.Stdout, n.process.Stderr = n.log, n.log
	if err := n.process.Start(); err != nil {
		n.t.Fatal(err)
	}
}

// kill ends the process like a crash.
func (n *node) kill() {
	n.process.Process.Kill()
	n.process.Wait()
}

// connect returns a client with long timeouts, which it closes at the end of the test.
func connect(t testing.TB, options Options, nodes ...string) *Client {
	t.Helper()
	if options.Timeout == 0 {
		options.Timeout = patience
	}
	client, err := New(nodes, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// testContext ends with the test, or after a generous time.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// must returns the value, or ends the test.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	alice, bob := Account(1), Account(2)
	for _, operation := range []Operation{Create(alice), Create(bob), Issue(alice, 1000)} {
		if receipt, err := client.Execute(ctx, operation); err != nil || receipt.Promise != PromiseDurable {
			t.Fatalf("%+v: %v", receipt, err)
		}
	}
	receipt := must(client.Transfer(ctx, alice, bob, 50))(t)
	if receipt.Value != 950 || receipt.Transaction == (TransactionID{}) {
		t.Errorf("%+v", receipt)
	}
	if balance := must(client.Balance(ctx, bob))(t); balance != 50 {
		t.Errorf("bob has %d", balance)
	}
	if receipt := must(client.WithPromise(PromiseAccepted).Issue(ctx, bob, 1))(t); receipt.Value != 51 {
		t.Errorf("%+v", receipt)
	}
	// A node without replicas answers at a lower promise, and the receipt names it.
	if receipt := must(client.WithPromise(PromiseFinal).Issue(ctx, bob, 1))(t); receipt.Promise != PromiseDurable {
		t.Errorf("%+v", receipt)
	}
	info := must(client.Info(ctx))(t)
	if info.Accounts != 2 || info.Promise != PromiseDurable || info.IsReadOnly || info.Program == "" || info.RetryTime == 0 {
		t.Errorf("%+v", info)
	}
	must(client.WaitForHeight(ctx, 1))(t)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	alice, bob, nobody := Account(1), Account(2), Account(3)
	must(client.Create(ctx, alice))(t)
	must(client.Create(ctx, bob))(t)
	must(client.Issue(ctx, bob, 1<<63))(t)
	must(client.Issue(ctx, alice, 1<<63))(t)
	first := Issue(alice, 7).WithTimedID(NewTransactionID())
	must(client.Execute(ctx, first))(t)
	reused := first
	reused.Amount = 8
	future := Issue(alice, 7).WithTimedID(timedID(time.Now().Add(time.Hour).UnixMilli()))
	unknown := Refer(alice)
	unknown.Command = 99
	malformed := Refer(alice)
	malformed.Flags = 0x80
	var keyed AccountID
	keyed[0] = 0x80
	for _, test := range []struct {
		operation Operation
		status    Status
	}{
		{Create(alice), StatusAccountExists},
		{Transfer(nobody, alice, 1), StatusSourceUnknown},
		{Transfer(alice, nobody, 1), StatusDestinationUnknown},
		{Transfer(alice, bob, 1<<63+8), StatusInsufficientBalance},
		{Transfer(bob, alice, 1<<63), StatusOverflow},
		{Transfer(alice, bob, 0), StatusZeroAmount},
		{Transfer(alice, alice, 1), StatusSelfTransfer},
		{reused, StatusTransactionIdReused},
		{future, StatusStaleTimestamp},
		{unknown, StatusUnknownCommand},
		{malformed, StatusMalformed},
		{Issue(keyed, 1), StatusNotAuthorised},
	} {
		receipt, err := client.Execute(ctx, test.operation)
		var typed *OperationError
		if !errors.Is(err, test.status) || !errors.As(err, &typed) || typed.Receipt != receipt || receipt.Status != test.status {
			t.Errorf("%v: %+v, %v", test.status, receipt, err)
		}
	}
	// A retry returns the first result.
	if receipt := must(client.Execute(ctx, first))(t); receipt.Value != 1<<63+7 {
		t.Errorf("%+v", receipt)
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	alice, bob := Account(1), Account(2)
	// More than two frames, in order; the last operation fails, and the others do not care.
	operations := []Operation{Create(alice), Create(bob), Issue(alice, 10_000)}
	for range 2500 {
		operations = append(operations, Transfer(alice, bob, 2))
	}
	operations = append(operations, Transfer(alice, bob, 5001))
	receipts := must(client.ExecuteBatch(ctx, operations))(t)
	for i, receipt := range receipts[:len(receipts)-1] {
		if receipt.Err() != nil || receipt.Transaction != operations[i].Transaction {
			t.Fatalf("operation %d: %+v", i, receipt)
		}
	}
	if last := receipts[len(receipts)-1]; !errors.Is(last.Err(), StatusInsufficientBalance) || last.Value != 5000 {
		t.Errorf("%+v", last)
	}
	// The slice has the ids, so a repetition changes nothing.
	repeated := must(client.ExecuteBatch(ctx, operations))(t)
	for i := range receipts {
		if receipts[i] != repeated[i] {
			t.Fatalf("operation %d: %+v, then %+v", i, receipts[i], repeated[i])
		}
	}
	if empty := must(client.ExecuteBatch(ctx, nil))(t); len(empty) != 0 {
		t.Errorf("%+v", empty)
	}
}

func TestLinkedOperations(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	alice, bob, bank := Account(1), Account(2), Account(3)
	must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Create(bank), Issue(alice, 5000)}))(t)
	// The chain of ten begins in the last places of a frame.
	operations := make([]Operation, 0, 1030)
	for range 1018 {
		operations = append(operations, Transfer(alice, bob, 1))
	}
	for range 9 {
		operations = append(operations, Transfer(alice, bank, 10).Linked())
	}
	operations = append(operations, Transfer(alice, bank, 10))
	for i, receipt := range must(client.ExecuteBatch(ctx, operations))(t) {
		if receipt.Err() != nil {
			t.Fatalf("operation %d: %+v", i, receipt)
		}
	}
	// The last one fails, so none has an effect, and a repetition has the same results.
	chain := []Operation{Transfer(alice, bob, 1000).Linked(), Transfer(bank, bob, 101), Transfer(bob, alice, 18)}
	for range 2 {
		receipts := must(client.ExecuteBatch(ctx, chain))(t)
		if !errors.Is(receipts[0].Err(), StatusLinkedFailed) || receipts[0].Value != 3882 {
			t.Errorf("%+v", receipts[0])
		}
		if !errors.Is(receipts[1].Err(), StatusInsufficientBalance) || receipts[2].Err() != nil || receipts[2].Value != 1000 {
			t.Errorf("%+v", receipts[1:])
		}
	}
	if balance := must(client.Balance(ctx, alice))(t); balance != 3900 {
		t.Errorf("alice has %d", balance)
	}
	// An open chain is refused, and no part of a chain is sent with operations of other callers.
	open := must(client.ExecuteBatch(ctx, []Operation{Transfer(alice, bob, 1).Linked()}))(t)
	if !errors.Is(open[0].Err(), StatusLinkedInvalid) {
		t.Errorf("%+v", open)
	}
	if _, err := client.Execute(ctx, Transfer(alice, bob, 1).Linked()); !errors.Is(err, ErrLinked) {
		t.Error(err)
	}
	if _, err := client.ExecuteSigned(ctx, SignedOperation{Operation: Transfer(alice, bob, 1).Linked()}); !errors.Is(err, ErrLinked) {
		t.Error(err)
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	alice, bob := Account(1), Account(2)
	must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Issue(alice, 1000)}))(t)
	hold := Hold(alice, bob, 300, time.Now().Add(time.Hour)).WithTimedID(NewTransactionID())
	lasting := Hold(alice, bob, 5, time.Time{}).WithTimedID(NewTransactionID())
	expired := Hold(alice, bob, 5, time.Now().Add(-time.Hour)).WithTimedID(NewTransactionID())
	for _, step := range []struct {
		operation Operation
		status    Status
		value     uint64
	}{
		{hold.Capture(300), StatusHoldUnknown, 1000},
		{expired, StatusHoldExpired, 1000},
		{hold, StatusOk, 700},
		{Transfer(alice, bob, 701), StatusInsufficientBalance, 700},
		{hold.Capture(301), StatusHoldExceeded, 700},
		{hold.Reclaim(), StatusHoldNotExpired, 700},
		{lasting, StatusOk, 695},
		{lasting.Release(), StatusOk, 700},
	} {
		receipt, err := client.Execute(ctx, step.operation)
		if receipt.Status != step.status || receipt.Value != step.value || (err == nil) != (step.status == StatusOk) {
			t.Errorf("%+v: %+v, %v", step.operation, receipt, err)
		}
	}

	network := must(client.Info(ctx))(t).Network
	chain := must(client.OpenChain(ctx, network))(t)
	made := proved(t, func() (*TransactionProof, error) { return client.ProveTransaction(ctx, chain, hold.Transaction, alice) })
	if made.Operation.Amount != 300 || made.Operation.HoldID() != hold.HoldID() {
		t.Errorf("%+v", made.Operation)
	}
	if held := must(client.ProveBalance(ctx, chain, hold.HoldID()))(t); held.Entry == nil || held.Entry.Balance != 300 {
		t.Errorf("%+v", held.Entry)
	}
	if receipt := must(client.Execute(ctx, hold.Capture(100)))(t); receipt.Value != 900 {
		t.Errorf("%+v", receipt)
	}
	captured := proved(t, func() (*TransactionProof, error) { return client.ProveTransaction(ctx, chain, hold.Transaction, bob) })
	if captured.Operation.Command != CommandCapture {
		t.Errorf("%+v", captured.Operation)
	}
	if held := must(client.ProveBalance(ctx, chain, hold.HoldID()))(t); held.Entry != nil {
		t.Errorf("%+v", held.Entry)
	}
	if latest := must(client.ProveLatest(ctx, chain, bob))(t); latest.Operation.Command != CommandCapture {
		t.Errorf("%+v", latest.Operation)
	}
}

func TestFrozenAndClosedAccounts(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	alice, bob := Account(1), Account(2)
	freeze := Freeze(alice).WithTimedID(NewTransactionID())
	for _, step := range []struct {
		operation Operation
		status    Status
		value     uint64
	}{
		{Create(alice), StatusOk, 0},
		{Create(bob), StatusOk, 0},
		{Issue(alice, 1000), StatusOk, 1000},
		{Unfreeze(alice), StatusAccountNotFrozen, 1000},
		{freeze, StatusOk, 1000},
		{Transfer(alice, bob, 1), StatusAccountFrozen, 1000},
		{Close(alice), StatusAccountFrozen, 1000},
	} {
		receipt, _ := client.Execute(ctx, step.operation)
		if receipt.Status != step.status || receipt.Value != step.value {
			t.Errorf("%+v: %+v", step.operation, receipt)
		}
	}
	chain := must(client.OpenChain(ctx, must(client.Info(ctx))(t).Network))(t)
	made := proved(t, func() (*TransactionProof, error) {
		return client.ProveTransaction(ctx, chain, freeze.Transaction, alice)
	})
	frozen := must(client.ProveBalance(ctx, chain, alice))(t).Entry
	if frozen == nil || !frozen.IsFrozen() || frozen.Balance != 1000 || frozen.LatestPosition() != made.Position {
		t.Errorf("%+v", frozen)
	}
	for _, operation := range []Operation{Unfreeze(alice), Transfer(alice, bob, 1000), Close(alice)} {
		if _, err := client.Execute(ctx, operation); err != nil {
			t.Errorf("%+v: %v", operation, err)
		}
	}
	if _, err := client.Execute(ctx, Refer(alice)); err == nil {
		t.Error("a closed account has a balance")
	}
}

func TestHistories(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	a, b := Account(1), Account(2)
	hold := Hold(a, b, 7, time.Time{}).WithTimedID(NewTransactionID())
	operations := []Operation{Create(a), Create(b), Issue(a, 1000), Transfer(a, b, 5), Transfer(a, b, 6), hold, Transfer(b, a, 1)}
	for i := range operations {
		operations[i] = operations[i].WithTimedID(NewTransactionID())
		must(client.Execute(ctx, operations[i]))(t)
	}
	last := operations[len(operations)-1].Transaction
	waitFor(t, func() bool {
		page, err := client.History(ctx, a, HistoryFilter{}, nil, 1)
		return err == nil && page.Transactions[0].Operation.Transaction == last
	})
	var found []PastTransaction
	for cursor := (*Locator)(nil); ; {
		page := must(client.History(ctx, a, HistoryFilter{}, cursor, 2))(t)
		found = append(found, page.Transactions...)
		if len(page.Transactions) > 2 || page.IsPruned {
			t.Errorf("a page of %d transactions, pruned: %v", len(page.Transactions), page.IsPruned)
		}
		if cursor = page.Next; cursor == nil {
			break
		}
	}
	if len(found) != 6 || found[0].Operation.Transaction != last || found[5].Operation.Command != CommandCreate || found[5].Time.IsZero() {
		t.Errorf("the history is %+v", found)
	}
	first := found[5]
	for _, step := range []struct {
		filter HistoryFilter
		count  int
	}{
		{HistoryFilter{Commands: []Command{CommandTransfer}}, 3},
		{HistoryFilter{Role: RoleDestination}, 1},
		{HistoryFilter{Role: RoleSource}, 5},
		{HistoryFilter{Counterpart: b}, 4},
		{HistoryFilter{OpenHolds: true}, 1},
		{HistoryFilter{EndHeight: first.Height}, 0},
		{HistoryFilter{FirstHeight: first.Height, FirstTime: first.Time}, 6},
		{HistoryFilter{EndTime: first.Time}, 0},
	} {
		if page := must(client.History(ctx, a, step.filter, nil, 100))(t); len(page.Transactions) != step.count {
			t.Errorf("%+v selects %d transactions, not %d", step.filter, len(page.Transactions), step.count)
		}
	}
	if _, err := client.History(ctx, Account(99), HistoryFilter{}, nil, 1); !errors.Is(err, StatusNotFound) {
		t.Errorf("the history of an unknown account: %v", err)
	}
	if _, err := client.History(ctx, a, HistoryFilter{}, nil, 0); err == nil {
		t.Error("a page of no entries was requested")
	}
}

func TestIssuedAmounts(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	for i, asset := range []uint32{7, 840} {
		account := Account(uint64(i + 1))
		must(client.Execute(ctx, Create(account).InAsset(asset)))(t)
		must(client.Execute(ctx, Issue(account, math.MaxUint64)))(t)
		other := Account(uint64(i + 11))
		must(client.Execute(ctx, Create(other).InAsset(asset)))(t)
		must(client.Execute(ctx, Issue(other, 1)))(t)
	}
	sum := new(big.Int).Lsh(big.NewInt(1), 64)
	waitFor(t, func() bool {
		page := must(client.Assets(ctx, 840, 1))(t)
		return len(page.Totals) == 1 && page.Totals[0].Issued.Cmp(sum) == 0
	})
	page := must(client.Assets(ctx, 0, 2))(t)
	if len(page.Totals) != 2 || page.Totals[0].Asset != 0 || page.Totals[1].Asset != 7 || page.Totals[1].Issued.Cmp(sum) != 0 || page.Next != 840 {
		t.Errorf("the assets are %+v", page)
	}
	if page := must(client.Assets(ctx, math.MaxUint32, 1))(t); len(page.Totals) != 0 || page.Next != 0 {
		t.Errorf("after the last asset: %+v", page)
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	gold, other, plain := Account(1), Account(2), Account(3)
	made := Create(gold).InAsset(959).WithTimedID(NewTransactionID())
	for _, step := range []struct {
		operation Operation
		status    Status
		value     uint64
	}{
		{made, StatusOk, 0},
		{Create(other).InAsset(959), StatusOk, 0},
		{Create(plain).InAsset(0), StatusOk, 0},
		{Issue(gold, 1000), StatusOk, 1000},
		{Transfer(gold, plain, 1), StatusAssetMismatch, 1000},
		{Transfer(gold, other, 1), StatusOk, 999},
	} {
		receipt, _ := client.Execute(ctx, step.operation)
		if receipt.Status != step.status || receipt.Value != step.value {
			t.Errorf("%+v: %+v", step.operation, receipt)
		}
	}
	chain := must(client.OpenChain(ctx, must(client.Info(ctx))(t).Network))(t)
	proved(t, func() (*TransactionProof, error) {
		return client.ProveTransaction(ctx, chain, made.Transaction, gold)
	})
	for account, asset := range map[AccountID]uint32{gold: 959, plain: 0} {
		entry := must(client.ProveBalance(ctx, chain, account))(t).Entry
		if entry == nil || entry.HasAsset() != (asset != 0) || entry.IsFrozen() || entry.Asset() != 0 {
			t.Fatalf("%+v", entry)
		}
		if found := must(client.ProveAsset(ctx, chain, entry))(t); found != asset {
			t.Errorf("asset %d, not %d", found, asset)
		}
	}
	// As if the account had been closed, or opened again later.
	gone := *must(client.ProveBalance(ctx, chain, plain))(t).Entry
	gone.Position |= assetBit
	old := *must(client.ProveBalance(ctx, chain, gold))(t).Entry
	old.Height = 0
	for _, entry := range []*IndexEntry{&gone, &old} {
		if _, err := client.ProveAsset(ctx, chain, entry); !errors.Is(err, ErrAssetChanged) {
			t.Errorf("%+v: %v", entry, err)
		}
	}
	stated := must(client.ProveBalance(ctx, chain, AssetID(gold)))(t).Entry
	if _, err := client.ProveAsset(ctx, chain, stated); !errors.Is(err, ErrNoAccount) || stated.Asset() != 959 {
		t.Errorf("%+v: %v", stated, err)
	}
}

func TestSignedOperations(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	network := must(client.Info(ctx))(t).Network
	issuer := must(NewSigner(secretKey(), network))(t)
	alice := must(NewSigner([32]byte{1}, network))(t)
	bob := must(NewSigner([32]byte{2}, network))(t)
	for _, signed := range []SignedOperation{
		issuer.Sign(Create(alice.Account()), PromiseDurable),
		issuer.Sign(Issue(alice.Account(), 1000), PromiseDurable),
		alice.Sign(CreateFor(bob.Account(), alice.Account(), 100), PromiseDurable),
		alice.Sign(Transfer(alice.Account(), bob.Account(), 50), PromiseDurable),
	} {
		if receipt, err := client.ExecuteSigned(ctx, signed); err != nil || receipt.Promise != PromiseDurable {
			t.Fatalf("%v: %+v, %v", signed.Operation.Command, receipt, err)
		}
	}
	transfer := bob.Sign(Transfer(bob.Account(), alice.Account(), 7), PromiseAccepted)
	for range 2 {
		// The second one is a retry.
		if receipt := must(client.ExecuteSigned(ctx, transfer))(t); receipt.Value != 43 {
			t.Errorf("%+v", receipt)
		}
	}
	forged := transfer
	forged.Signature[63] ^= 1
	other := must(NewSigner([32]byte{2}, NetworkID{}))(t)
	carol := must(NewSigner([32]byte{3}, network))(t)
	for _, test := range []struct {
		signed SignedOperation
		status Status
	}{
		{forged, StatusBadSignature},
		{other.Sign(Transfer(bob.Account(), alice.Account(), 1), PromiseDurable), StatusBadSignature},
		{alice.Sign(Transfer(bob.Account(), alice.Account(), 1), PromiseDurable), StatusNotAuthorised},
		{alice.Sign(Issue(alice.Account(), 1), PromiseDurable), StatusNotIssuer},
		{alice.SignAt(Transfer(alice.Account(), bob.Account(), 1), PromiseDurable, time.Now().Add(-time.Hour), 1), StatusStaleTimestamp},
		{alice.Sign(CreateFor(carol.Account(), alice.Account(), 99), PromiseDurable), StatusDepositRequired},
	} {
		if _, err := client.ExecuteSigned(ctx, test.signed); !errors.Is(err, test.status) {
			t.Errorf("%v: %v", test.status, err)
		}
	}
}

func TestProofs(t *testing.T) {
	t.Parallel()
	ctx, client := testContext(t), connect(t, Options{}, startNode(t).address)
	network := must(client.Info(ctx))(t).Network
	issuer, alice, bob := must(NewSigner(secretKey(), network))(t), Account(1), Account(2)
	must(client.ExecuteBatch(ctx, []Operation{Create(alice), Create(bob), Issue(alice, 1000)}))(t)
	must(client.ExecuteSigned(ctx, issuer.Sign(Create(issuer.Account()), PromiseDurable)))(t)
	receipt := must(client.Transfer(ctx, alice, bob, 50))(t)

	chain := must(client.OpenChain(ctx, network))(t)
	if _, err := client.OpenChain(ctx, NetworkID{1}); err == nil {
		t.Error("another network was accepted")
	}
	transaction := proved(t, func() (*TransactionProof, error) {
		return client.ProveTransaction(ctx, chain, receipt.Transaction, alice)
	})
	if transaction.Operation.Amount != 50 || transaction.Operation.Destination != bob || transaction.Signed != nil {
		t.Errorf("%+v", transaction)
	}
	balance := must(client.ProveBalance(ctx, chain, bob))(t)
	if balance.Entry == nil || balance.Entry.Balance != 50 || balance.Height < transaction.Height {
		t.Fatalf("%+v", balance)
	}
	same := must(client.ProveAt(ctx, chain, uint64(balance.Entry.Height), balance.Entry.Position))(t)
	if same.Operation != transaction.Operation {
		t.Errorf("%+v", same)
	}
	if latest := must(client.ProveLatest(ctx, chain, alice))(t); latest.Operation.Transaction != receipt.Transaction {
		t.Errorf("%+v", latest)
	}
	signed := must(client.ProveLatest(ctx, chain, issuer.Account()))(t)
	if signed.Signed == nil || !signed.Signed.Verify(network) {
		t.Errorf("%+v", signed)
	}
	if absent := must(client.ProveBalance(ctx, chain, Account(99)))(t); absent.Entry != nil {
		t.Errorf("%+v", absent)
	}
	if _, err := client.ProveTransaction(ctx, chain, TransactionID{1}, alice); !errors.Is(err, StatusNotFound) {
		t.Error(err)
	}

	// A valid proof of another transaction than requested is refused.
	liar := startFake(t, func(send func([]byte), reply []byte) {
		var asked, proof proofRequest
		asked.read(reply)
		proof.read(transaction.Reply)
		asked.BodyLength = proof.BodyLength
		lie := append([]byte(nil), transaction.Reply...)
		asked.write(lie)
		send(lie)
	})
	deceived := connect(t, Options{}, liar.address())
	must(deceived.ProveTransaction(ctx, chain, receipt.Transaction, alice))(t)
	must(deceived.ProveLatest(ctx, chain, bob))(t)
	must(deceived.ProveAt(ctx, chain, transaction.Height, transaction.Position))(t)
	_, err1 := deceived.ProveTransaction(ctx, chain, TransactionID{1}, alice)
	_, err2 := deceived.ProveTransaction(ctx, chain, receipt.Transaction, bob)
	_, err3 := deceived.ProveLatest(ctx, chain, Account(99))
	_, err4 := deceived.ProveAt(ctx, chain, transaction.Height, transaction.Position+1)
	for i, err := range []error{err1, err2, err3, err4} {
		var invalid *ProofError
		if !errors.As(err, &invalid) {
			t.Errorf("lie %d: %v", i, err)
		}
	}

	// What was stored is verified again without a node, and refused with any byte changed.
	restored := must(RestoreChain(network, chain.Encode()))(t)
	if restored.TipHash() != chain.TipHash() {
		t.Error("the restored chain is another one")
	}
	must(restored.VerifyTransaction(transaction.Reply))(t)
	must(restored.VerifyBalance(bob, balance.Reply))(t)
	// A proof of one account proves nothing about another one, except that a shared leaf lacks it.
	if proof, err := restored.VerifyBalance(Account(99), balance.Reply); err == nil && proof.Entry != nil {
		t.Errorf("%+v", proof)
	}
	everyByteCounts(t, transaction.Reply, func(reply []byte) bool {
		proof, err := restored.VerifyTransaction(reply)
		return err == nil && proof.Operation != transaction.Operation
	})
	everyByteCounts(t, balance.Reply, func(reply []byte) bool {
		proof, err := restored.VerifyBalance(bob, reply)
		return err == nil && (proof.Entry == nil || *proof.Entry != *balance.Entry)
	})
	encoded := chain.Encode()
	everyByteCounts(t, encoded, func(encoded []byte) bool {
		other, err := RestoreChain(network, encoded)
		return err == nil && other.TipHash() != chain.TipHash()
	})
}

// everyByteCounts flips each byte in turn, and fails if something else is then accepted.
func everyByteCounts(t *testing.T, good []byte, isOther func([]byte) bool) {
	t.Helper()
	for i := range good {
		changed := append([]byte(nil), good...)
		changed[i] ^= 1
		if isOther(changed) {
			t.Errorf("byte %d can be changed", i)
		}
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// proved repeats a request until the transaction is in a block.
func proved[T any](t *testing.T, prove func() (T, error)) T {
	t.Helper()
	for {
		proof, err := prove()
		if !errors.Is(err, StatusNotFound) {
			return must(proof, err)(t)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
