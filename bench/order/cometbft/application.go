package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	abci "github.com/cometbft/cometbft/abci/types"
)

// counter is an application that executes nothing: it counts opaque transactions, and writes down each block that is decided.
// Its hash never changes, so that no empty block is made to prove one.
type counter struct {
	abci.BaseApplication
	// Bytes of the transaction that a proposer makes itself; 0 where proposals are of the mempool.
	body int
	log  *os.File

	mutex sync.Mutex
	// Transactions that were made here, or asked for here, and since when.
	since map[[stamp]byte]time.Time
	// Gets a value for each of them that is decided.
	decided chan struct{}
}

// stamp is how many bytes at the start of a transaction tell it from all others.
const stamp = 16

func newCounter(body int, log *os.File) *counter {
	return &counter{body: body, log: log, since: map[[stamp]byte]time.Time{}, decided: make(chan struct{}, 1)}
}

// transaction makes one that no other is the same as, and that does not compress.
func transaction(size int) []byte {
	made := make([]byte, (size+7)/8*8)
	for at := 0; at < len(made); at += 8 {
		binary.BigEndian.PutUint64(made[at:], rand.Uint64())
	}
	return made[:size]
}

// watch has the time from now on measured until a transaction is decided.
func (c *counter) watch(transaction []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	// Those of rounds that were given up are never decided.
	if len(c.since) > 1024 {
		clear(c.since)
	}
	c.since[[stamp]byte(transaction)] = time.Now()
}

func (c *counter) PrepareProposal(ctx context.Context, asked *abci.RequestPrepareProposal) (*abci.ResponsePrepareProposal, error) {
	if c.body == 0 {
		// CometBFT asks for no more than fit.
		return &abci.ResponsePrepareProposal{Txs: asked.Txs}, nil
	}
	made := transaction(c.body)
	c.watch(made)
	return &abci.ResponsePrepareProposal{Txs: [][]byte{made}}, nil
}

func (c *counter) FinalizeBlock(_ context.Context, block *abci.RequestFinalizeBlock) (*abci.ResponseFinalizeBlock, error) {
	now := time.Now()
	took := "-"
	c.mutex.Lock()
	for _, transaction := range block.Txs {
		key := [stamp]byte(transaction)
		if since, found := c.since[key]; found {
			delete(c.since, key)
			took = fmt.Sprint(now.Sub(since).Microseconds())
			select {
			case c.decided <- struct{}{}:
			default:
			}
		}
	}
	c.mutex.Unlock()
	if _, err := fmt.Fprintf(c.log, "%d %x %s %d\n", block.Height, block.Hash, took, len(block.Txs)); err != nil {
		return nil, err
	}
	results := make([]*abci.ExecTxResult, len(block.Txs))
	for number := range results {
		results[number] = &abci.ExecTxResult{}
	}
	return &abci.ResponseFinalizeBlock{TxResults: results}, nil
}
