package turnpike

import (
	"encoding/binary"
	"fmt"
)

const (
	// maxFrame is the maximum length of a frame, also in a stream.
	maxFrame = maxDatagram
	// prefixSize is the length of the frame's length in a stream.
	prefixSize = 4
	hashSize   = len(Hash{})
	// bitcoinHeaderSize is the length of a header of Bitcoin.
	bitcoinHeaderSize = 80
)

// newFrame returns a frame of a length, with its prefix and header.
func newFrame(kind frameType, id uint32, length int) []byte {
	frame := make([]byte, prefixSize+length)
	binary.BigEndian.PutUint32(frame, uint32(length))
	(&frameHeader{Magic: magic, Version: version, Kind: uint8(kind), Id: id}).write(frame[prefixSize:])
	return frame
}

// reply is a node's frame whose parts have the lengths that it names. Nothing else in it is trusted.
type reply struct {
	kind frameType // 0 in error frames, which answer requests of any kind
	id   uint32
	// status of the frame as a whole. Unless it is StatusOk, only the fixed part is there.
	status Status
	// needed is the length that a refused request lacked.
	needed int
	frame  []byte
}

// malformed reports bytes that are not a reply.
func malformed(problem string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrWrongReply, fmt.Sprintf(problem, values...))
}

// parseReply checks the form of a frame from a node.
func parseReply(frame []byte) (reply, error) {
	if len(frame) < frameHeaderSize {
		return reply{}, malformed("%d bytes are not a frame", len(frame))
	}
	var header frameHeader
	header.read(frame)
	if header.Magic != magic || header.Kind&replyBit == 0 {
		return reply{}, malformed("the frame is not a reply")
	}
	if header.Version != version {
		return reply{}, malformed("the node speaks version %d of the protocol", header.Version)
	}
	r := reply{id: header.Id, frame: frame}
	if header.Kind == errorType {
		if len(frame) != errorFrameSize {
			return reply{}, malformed("an error frame has %d bytes", len(frame))
		}
		var fixed errorFrame
		fixed.read(frame)
		r.status, r.needed = fixed.Status, int(fixed.Detail)
		return r.known()
	}
	r.kind = frameType(header.Kind &^ replyBit)
	form, isUsed := forms[r.kind]
	if !isUsed {
		return reply{}, malformed("type %v was not requested", r.kind)
	}
	if len(frame) < form.fixed {
		return reply{}, malformed("a reply of type %v has %d bytes", r.kind, len(frame))
	}
	var length int
	r.status, length = form.measure(frame)
	if r.status == StatusOk && (length < 0 || len(frame) < length || form.isExact && len(frame) != length) {
		return reply{}, malformed("a reply of type %v has %d bytes, and its fields require %d", r.kind, len(frame), length)
	}
	if r.status != StatusOk && form.isExact && len(frame) != form.fixed {
		return reply{}, malformed("a refusal of type %v has %d bytes", r.kind, len(frame))
	}
	return r.known()
}

func (r reply) known() (reply, error) {
	if !r.status.isKnown() {
		return reply{}, malformed("%v", r.status)
	}
	return r, nil
}

// forms has the replies that this client asks for: the fixed part, and a function that returns the frame's status and the
// length that its fields require, or -1 if they contradict each other.
var forms = map[frameType]struct {
	fixed   int
	isExact bool
	measure func(frame []byte) (Status, int)
}{
	frameTypeBatch:    {batchHeaderSize, true, measureBatch},
	frameTypeProof:    {proofRequestSize, false, measureProof},
	frameTypeHeaders:  {headersFrameSize, false, measureHeaders},
	frameTypeInfo:     {infoFrameSize, true, measureInfo},
	frameTypeFinality: {finalityFrameSize, false, measureFinality},
	frameTypeFeed:     {feedFrameSize, true, measureFeed},
	frameTypeHistory:  {historyFrameSize, true, measureHistory},
	frameTypeAssets:   {assetsFrameSize, true, measureAssets},
}

// entrySize returns the length of a batch's entry, or 0 for formats that this client does not use.
func entrySize(format batchFormat) int {
	switch format {
	case batchFormatOperation:
		return operationSize
	case batchFormatSigned:
		return signedOperationSize
	}
	return 0
}

func measureBatch(frame []byte) (Status, int) {
	var fixed batchHeader
	fixed.read(frame)
	size := entrySize(fixed.Format)
	if size == 0 || fixed.Count == 0 || fixed.Promise > PromiseFinal {
		return fixed.Status, -1
	}
	return fixed.Status, batchHeaderSize + int(fixed.Count)*size
}

func measureProof(frame []byte) (Status, int) {
	var request proofRequest
	request.read(frame)
	length := proofRequestSize
	switch {
	case request.Status != StatusOk:
	case request.Query == queryIndex:
		if length = indexReplySize; len(frame) >= length {
			var fixed indexReply
			fixed.read(frame)
			length += int(fixed.Depth)*hashSize + int(fixed.EntryCount)*indexEntrySize
		}
	case request.Query == queryLatest || request.Query == queryTransaction || request.Query == queryLocator:
		if length = proofReplySize; len(frame) >= length {
			var fixed proofReply
			fixed.read(frame)
			length += int(fixed.Depth)*hashSize + int(fixed.TransactionLength) + int(fixed.CoinbaseLength)
			if request.Chain == chainBitcoin {
				length += int(fixed.Depth) * hashSize
			}
		}
	default:
		return request.Status, -1
	}
	if request.Chain != chainOwn && request.Chain != chainBitcoin || int64(request.BodyLength) != int64(length-proofRequestSize) {
		return request.Status, -1
	}
	return request.Status, length
}

func measureHeaders(frame []byte) (Status, int) {
	var fixed headersFrame
	fixed.read(frame)
	sizes := map[chain]int{chainOwn: SealedHeaderSize, chainBitcoin: bitcoinHeaderSize}
	size, isChain := sizes[fixed.Chain]
	if !isChain || int(fixed.HeaderSize) != size {
		return fixed.Status, -1
	}
	return fixed.Status, headersFrameSize + int(fixed.Count)*size
}

func measureInfo(frame []byte) (Status, int) {
	var fixed infoFrame
	fixed.read(frame)
	return fixed.Status, infoFrameSize
}

func measureFinality(frame []byte) (Status, int) {
	var fixed finalityFrame
	fixed.read(frame)
	return fixed.Status, finalityFrameSize + int(fixed.Replicas)*hashSize + int(fixed.CertificateSize)
}

func measureFeed(frame []byte) (Status, int) {
	var fixed feedFrame
	fixed.read(frame)
	if fixed.Promise > PromiseFinal {
		return fixed.Status, -1
	}
	return fixed.Status, feedFrameSize + int(fixed.Count)*feedEntrySize + int(fixed.Signed)*feedTailSize
}

func measureHistory(frame []byte) (Status, int) {
	var fixed historyFrame
	fixed.read(frame)
	return fixed.Status, historyFrameSize + int(fixed.Count)*historyEntrySize
}

func measureAssets(frame []byte) (Status, int) {
	var fixed assetsFrame
	fixed.read(frame)
	return fixed.Status, assetsFrameSize + int(fixed.Count)*assetTotalSize
}

// answers reports whether the reply repeats the subject of a request, a frame without its prefix. The entries of
// batches are compared when receipts are made.
func (r reply) answers(request []byte) bool {
	var header frameHeader
	header.read(request)
	if r.kind == 0 {
		return true
	}
	if r.kind != frameType(header.Kind) {
		return false
	}
	switch r.kind {
	case frameTypeBatch:
		var asked, found batchHeader
		asked.read(request)
		found.read(r.frame)
		return asked.Count == found.Count && asked.Format == found.Format
	case frameTypeProof:
		var asked, found proofRequest
		asked.read(request)
		found.read(r.frame)
		return asked.Chain == found.Chain && asked.Query == found.Query && asked.Key == found.Key
	case frameTypeHeaders:
		var asked, found headersFrame
		asked.read(request)
		found.read(r.frame)
		return asked.Chain == found.Chain && asked.FirstHeight == found.FirstHeight &&
			(found.Count <= asked.Count || r.status != StatusOk)
	case frameTypeFinality:
		var asked, found finalityFrame
		asked.read(request)
		found.read(r.frame)
		return asked.Generation == found.Generation
	case frameTypeHistory:
		var asked, found historyFrame
		asked.read(request)
		found.read(r.frame)
		// The node sets its progress; the other fields are those of the request.
		conditions := found
		conditions.Header, conditions.Status, conditions.Count, conditions.Flags = asked.Header, 0, asked.Count, asked.Flags
		conditions.FirstRetained, conditions.TipHeight = 0, 0
		conditions.CursorHeight, conditions.CursorPosition = asked.CursorHeight, asked.CursorPosition
		return conditions == asked && found.Count <= asked.Count
	case frameTypeAssets:
		var asked, found assetsFrame
		asked.read(request)
		found.read(r.frame)
		return asked.FirstAsset == found.FirstAsset && found.Count <= asked.Count
	}
	return true
}

// receipts decodes the entries of a batch's reply; nil if they are not those of the request.
func (r reply) receipts(request []byte) []Receipt {
	var header batchHeader
	header.read(r.frame)
	size := entrySize(header.Format)
	receipts := make([]Receipt, header.Count)
	for i, at := 0, batchHeaderSize; i < len(receipts); i, at = i+1, at+size {
		var asked, found Operation
		asked.read(request[at:])
		found.read(r.frame[at:])
		if found.Transaction != asked.Transaction || found.Source != asked.Source || found.Command != asked.Command ||
			!found.Status.isKnown() {
			return nil
		}
		receipts[i] = Receipt{found.Transaction, found.Status, header.Promise, found.Amount}
	}
	return receipts
}
