package turnpike

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

const (
	// firstRoom is the length of the first request for a proof or a certificate, which bounds the reply's. Most fit.
	firstRoom = 1472
	// maxSync is how many headers a call fetches, so that a node cannot fill the memory.
	maxSync = 1 << 20
	// certificateWait is how long a proof waits for a certificate that covers its block. An idle leader orders an empty
	// block for it.
	certificateWait  = 5 * time.Second
	certificatePause = 20 * time.Millisecond
)

// OpenChain fetches the genesis header of a network, and returns a chain of headers that has it only. The network id,
// which the operator publishes, pins everything else: without it, any node could invent a network.
func (c *Client) OpenChain(ctx context.Context, network NetworkID) (*Chain, error) {
	headers, _, err := c.headers(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(headers) != 1 {
		return nil, ErrWrongReply
	}
	return newChain(network, headers[0])
}

// SyncHeaders fetches and verifies the headers that the chain lacks, at most 2^20 per call, and returns their number.
// Known headers are never replaced: if the chain's key has sealed others, the error is a [ForkError].
func (c *Client) SyncHeaders(ctx context.Context, chain *Chain) (int, error) {
	first := chain.Height()
	var err error
	if chain.isOrdered() {
		err = c.syncCertified(ctx, chain)
	} else {
		err = c.syncSealed(ctx, chain)
	}
	return int(chain.Height() - first), err
}

func (c *Client) syncSealed(ctx context.Context, chain *Chain) error {
	for first := chain.Height(); chain.Height()-first < maxSync; {
		// The known tip comes first, to see whether the node has it.
		headers, tip, err := c.headers(ctx, chain.Height(), c.maxHeaders())
		if err != nil {
			return err
		}
		if len(headers) == 0 {
			return nil // the node lacks blocks
		}
		if err := chain.compare(headers[0]); err != nil {
			return err
		}
		if err := chain.extend(headers[1:]); err != nil {
			return err
		}
		if len(headers) == 1 || chain.Height() >= tip {
			return nil
		}
	}
	return nil
}

// syncCertified fetches the headers that a certificate of the replicas vouches for, and no others.
func (c *Client) syncCertified(ctx context.Context, chain *Chain) error {
	vouched, err := c.vouched(ctx, chain.vouched)
	if errors.Is(err, StatusNotFound) && chain.vouched != nil {
		// This replica may lag behind the one that reported the last change of the set.
		vouched, err = c.vouched(ctx, nil)
	}
	if err != nil || vouched == nil {
		return err
	}
	defer chain.forgetUnvouched()
	for {
		err := chain.certify(vouched)
		// The certificate is valid, so it bounds the number of headers.
		if !errors.Is(err, errStatement) || chain.Height()+1 >= vouched.certificate.height() {
			return err
		}
		headers, _, err := c.headers(ctx, chain.Height()+1, c.maxHeaders())
		if err != nil {
			return err
		}
		if len(headers) == 0 {
			return errStatement
		}
		if err := chain.extend(headers); err != nil {
			return err
		}
	}
}

// maxHeaders returns how many headers fit in a frame.
func (c *Client) maxHeaders() int { return (c.frame - headersFrameSize) / SealedHeaderSize }

// headers fetches headers from a height on, and the height of the node's tip.
func (c *Client) headers(ctx context.Context, first uint64, count int) ([]SealedHeader, uint64, error) {
	id := c.nextID.Add(1)
	frame := newFrame(frameTypeHeaders, id, headersFrameSize+count*SealedHeaderSize)
	fixed := headersFrame{Chain: chainOwn, Count: uint16(count), FirstHeight: first}
	fixed.Header.read(frame[prefixSize:])
	fixed.write(frame[prefixSize:])
	found, err := c.exchange(ctx, &request{id: id, frame: frame}, c.options.Timeout, nil)
	if err != nil {
		return nil, 0, err
	}
	fixed.read(found.reply.frame)
	headers := make([]SealedHeader, fixed.Count)
	for i := range headers {
		headers[i] = readSealedHeader(found.reply.frame[headersFrameSize+i*SealedHeaderSize:])
	}
	return headers, fixed.TipHeight, nil
}

// withRoom sends a request with this room for the reply, and again with as much as the reply needs.
func (c *Client) withRoom(ctx context.Context, kind frameType, write func(header frameHeader, frame []byte)) (reply, error) {
	for room := firstRoom; ; {
		id := c.nextID.Add(1)
		frame := newFrame(kind, id, room)
		var header frameHeader
		header.read(frame[prefixSize:])
		write(header, frame[prefixSize:])
		found, err := c.exchange(ctx, &request{id: id, frame: frame}, c.options.Timeout, nil)
		if needed := found.reply.needed; errors.Is(err, StatusReplyTooLarge) && needed > room && needed <= maxFrame {
			room = needed
			continue
		}
		return found.reply, err
	}
}

// vouched asks a replica for the changes of the set after the known ones, and for its newest certificate. It returns nil
// if there is no certificate yet.
func (c *Client) vouched(ctx context.Context, known *vouched) (*vouched, error) {
	v := new(vouched)
	if known != nil {
		v.founders, v.reconfigurations = known.founders, known.reconfigurations[:len(known.reconfigurations):len(known.reconfigurations)]
	}
	for {
		asked := uint32(len(v.reconfigurations))
		reply, err := c.withRoom(ctx, frameTypeFinality, func(header frameHeader, frame []byte) {
			(&finalityFrame{Header: header, Generation: asked}).write(frame)
		})
		if err != nil {
			return nil, err
		}
		var fixed finalityFrame
		fixed.read(reply.frame)
		if fixed.Generations < asked || fixed.Generations > maxReconfigurations {
			return nil, uncertified("the set changed %d times", fixed.Generations)
		}
		keys := reply.frame[finalityFrameSize:][:int(fixed.Replicas)*hashSize]
		signed := reply.frame[finalityFrameSize+len(keys):][:fixed.CertificateSize]
		if v.founders == nil {
			if v.founders, err = newReplicaSet(keys); err != nil {
				return nil, err
			}
		}
		if asked == fixed.Generations {
			if len(signed) == 0 {
				return nil, nil
			}
			v.certificate, err = decodeCertificate(signed)
			return v, err
		}
		change, err := decodeReconfiguration(signed)
		if err != nil {
			return nil, err
		}
		v.reconfigurations = append(v.reconfigurations, change)
	}
}

// ProveBalance fetches and verifies the balance of an account as of the last block that the node can prove, or a proof
// that there is no such account. It synchronises the chain's headers as needed.
func (c *Client) ProveBalance(ctx context.Context, chain *Chain, account AccountID) (proof *BalanceProof, err error) {
	reply, err := c.proof(ctx, queryIndex, account[:])
	if err != nil {
		return nil, err
	}
	err = c.syncUntil(ctx, chain, func() error {
		proof, err = chain.VerifyBalance(account, reply)
		return err
	})
	return proof, err
}

// ErrAssetChanged means that an account was closed, and perhaps opened in another asset, since its balance was proved.
var ErrAssetChanged = errors.New("the account was closed since its balance was proved; prove it again")

// ErrNoAccount means that an entry is not that of an account or a hold: it states the asset of another id.
var ErrNoAccount = errors.New("the id is not that of an account: its entry states the asset of another id")

// ProveAsset returns the asset of an account or a hold whose entry [Client.ProveBalance] has proved. It fetches and
// verifies another proof unless the asset is 0.
func (c *Client) ProveAsset(ctx context.Context, chain *Chain, entry *IndexEntry) (uint32, error) {
	if entry.Asset() != 0 {
		return 0, ErrNoAccount
	}
	if !entry.HasAsset() {
		return 0, nil
	}
	proof, err := c.ProveBalance(ctx, chain, AssetID(entry.Account))
	if err != nil {
		return 0, err
	}
	stated := proof.Entry
	isLater := stated != nil && (stated.Height > entry.Height ||
		stated.Height == entry.Height && stated.LatestPosition() > entry.LatestPosition())
	// An older proof may be that of an account that was closed and opened again, too.
	if stated == nil || isLater || proof.Height < uint64(entry.Height) || stated.Asset() == 0 {
		return 0, ErrAssetChanged
	}
	return stated.Asset(), nil
}

// ProveTransaction fetches and verifies the proof of a transaction, named by its id and its source, the payer of a
// deposit, or the receiver of a hold that ends. A durable transaction is in a block within about a second; before, the error is StatusNotFound.
func (c *Client) ProveTransaction(ctx context.Context, chain *Chain, id TransactionID, source AccountID) (*TransactionProof, error) {
	return c.prove(ctx, chain, queryTransaction, append(id[:], source[:]...), func(proof *TransactionProof) bool {
		return proof.Operation.Transaction == id && proof.Operation.namer() == source
	})
}

// ProveLatest fetches and verifies the proof of an account's latest transaction. It proves that the transaction is in a
// block; only [Client.ProveBalance] proves that there is no later one.
func (c *Client) ProveLatest(ctx context.Context, chain *Chain, account AccountID) (*TransactionProof, error) {
	return c.prove(ctx, chain, queryLatest, account[:], func(proof *TransactionProof) bool {
		return proof.Operation.changes(account)
	})
}

// ProveAt fetches and verifies the proof of the transaction at a position of a block, such as the one that an
// [IndexEntry] names.
func (c *Client) ProveAt(ctx context.Context, chain *Chain, height uint64, position uint32) (*TransactionProof, error) {
	key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, height), position)
	return c.prove(ctx, chain, queryLocator, key, func(proof *TransactionProof) bool {
		return proof.Height == height && proof.Position == position
	})
}

func (c *Client) prove(ctx context.Context, chain *Chain, query query, key []byte, fits func(*TransactionProof) bool) (*TransactionProof, error) {
	reply, err := c.proof(ctx, query, key)
	if err != nil {
		return nil, err
	}
	var proof *TransactionProof
	err = c.syncUntil(ctx, chain, func() (err error) {
		proof, err = chain.VerifyTransaction(reply)
		return err
	})
	if err == nil && !fits(proof) {
		return nil, unproved("it is for another transaction than requested")
	}
	return proof, err
}

// proof fetches the reply to a query.
func (c *Client) proof(ctx context.Context, query query, key []byte) ([]byte, error) {
	reply, err := c.withRoom(ctx, frameTypeProof, func(header frameHeader, frame []byte) {
		fixed := proofRequest{Header: header, Chain: chainOwn, Query: query}
		copy(fixed.Key[:], key)
		fixed.write(frame)
	})
	return reply.frame, err
}

// syncUntil fetches headers until a proof's block is known. On a chain that replicas order, it waits for a certificate.
func (c *Client) syncUntil(ctx context.Context, chain *Chain, verify func() error) error {
	began := time.Now()
	for isSynced := false; ; isSynced = true {
		err := verify()
		if !errors.Is(err, ErrUnknownBlock) || isSynced && (!chain.isOrdered() || time.Since(began) > certificateWait) {
			return err
		}
		if isSynced {
			select {
			case <-time.After(certificatePause):
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", err, context.Cause(ctx))
			}
		}
		if _, err := c.SyncHeaders(ctx, chain); err != nil {
			return err
		}
	}
}
