package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cfg "github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	"github.com/cometbft/cometbft/proxy"
	"github.com/cometbft/cometbft/types"
)

const (
	// Pauses of gossip and of writes to sockets. Shorter ones take processors that validators share, and win nothing.
	gossipPause = time.Millisecond
	flushPause  = time.Millisecond
	// Bytes of a block, as a node of ours has it.
	blockBytes = 1 << 20
)

// shape is what all validators of a run are started with.
type shape struct {
	// Bytes of the transaction that each proposer makes itself; 0 where proposals are of the mempool.
	body int
	// Bytes of the transactions that are put into the mempool; 0 where none are.
	transaction int
	// One transaction at a time, of the first validator, instead of as many as the mempools hold, of all.
	single bool
}

// Anybody knows these keys: the validators are on one machine, for a minute.
func key(use string, number int) crypto.PrivKey {
	return ed25519.GenPrivKeyFromSecret([]byte(fmt.Sprint(use, number)))
}

// configuration is CometBFT's own, but for what is tuned: timeouts that wait for stragglers are zero, those that guard against a
// failed proposer stay as they are, pauses of gossip are short, and rates are not limited.
func configuration(home string, number int, ports []string, shape shape) *cfg.Config {
	config := cfg.DefaultConfig().SetRoot(home)
	config.RPC.ListenAddress = ""
	config.TxIndex.Indexer = "null"
	config.Storage.DiscardABCIResponses = true

	config.Consensus.TimeoutCommit = 0
	config.Consensus.SkipTimeoutCommit = true
	config.Consensus.PeerGossipSleepDuration = gossipPause
	// With proposals of the mempool, a block waits for a transaction.
	config.Consensus.CreateEmptyBlocks = shape.body > 0

	config.P2P.ListenAddress = "tcp://127.0.0.1:" + ports[number]
	config.P2P.PexReactor = false
	config.P2P.AddrBookStrict = false
	config.P2P.AllowDuplicateIP = true
	config.P2P.FlushThrottleTimeout = flushPause
	config.P2P.MaxPacketMsgPayloadSize = 64 << 10
	config.P2P.SendRate = 1 << 30
	config.P2P.RecvRate = 1 << 30
	peers := []string{}
	for other, port := range ports {
		if other != number {
			peers = append(peers, fmt.Sprintf("%s@127.0.0.1:%s", p2p.PubKeyToID(key("node", other).PubKey()), port))
		}
	}
	config.P2P.PersistentPeers = strings.Join(peers, ",")

	config.Mempool.Recheck = false
	// Where all mempools are full, every proposer has enough of its own.
	config.Mempool.Broadcast = shape.single
	config.Mempool.Size = 32768
	config.Mempool.CacheSize = 262144
	return config
}

func genesis(validators int, since time.Time, shape shape) *types.GenesisDoc {
	params := types.DefaultConsensusParams()
	// Room for the header and the votes.
	params.Block.MaxBytes = int64(max(blockBytes, shape.body)) + 64<<10
	made := &types.GenesisDoc{ChainID: "bench", GenesisTime: since, ConsensusParams: params}
	for number := range validators {
		public := key("validator", number).PubKey()
		made.Validators = append(made.Validators, types.GenesisValidator{Address: public.Address(), PubKey: public, Power: 1})
	}
	return made
}

// validate runs a validator until it is killed.
func validate(home string, number int, ports []string, since time.Time, shape shape) error {
	for _, folder := range []string{"config", "data"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			return err
		}
	}
	decisions, err := os.Create(filepath.Join(home, decisionsFile))
	if err != nil {
		return err
	}
	application := newCounter(shape.body, decisions)
	config := configuration(home, number, ports, shape)
	signer := privval.NewFilePV(key("validator", number), config.PrivValidatorKeyFile(), config.PrivValidatorStateFile())
	signer.Save()
	validator, err := node.NewNode(
		config,
		signer,
		&p2p.NodeKey{PrivKey: key("node", number)},
		proxy.NewConnSyncLocalClientCreator(application),
		func() (*types.GenesisDoc, error) { return genesis(len(ports), since, shape), nil },
		cfg.DefaultDBProvider,
		node.DefaultMetricsProvider(config.Instrumentation),
		log.NewFilter(log.NewTMLogger(log.NewSyncWriter(os.Stderr)), log.AllowError()),
	)
	if err != nil {
		return err
	}
	if err := validator.Start(); err != nil {
		return err
	}
	switch {
	case shape.transaction == 0:
	case !shape.single:
		return fill(validator.Mempool(), shape.transaction)
	case number == 0:
		return oneByOne(validator.Mempool(), application, shape.transaction)
	}
	select {}
}

// fill keeps a mempool full.
func fill(pool mempool.Mempool, size int) error {
	var full mempool.ErrMempoolIsFull
	for {
		err := pool.CheckTx(transaction(size), nil, mempool.TxInfo{})
		if errors.As(err, &full) {
			time.Sleep(time.Millisecond)
		} else if err != nil {
			return err
		}
	}
}

// oneByOne puts a transaction into a mempool whenever the one before it is decided.
func oneByOne(pool mempool.Mempool, application *counter, size int) error {
	for {
		made := transaction(size)
		application.watch(made)
		if err := pool.CheckTx(made, nil, mempool.TxInfo{}); err != nil {
			return err
		}
		<-application.decided
	}
}
