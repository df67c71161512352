package turnpike

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// retryAtMost is the maximum wait between two attempts.
	retryAtMost = 4 * time.Second
	// firstPause is the wait after a refusal for lack of room, or a failed connection: a node soon has room.
	firstPause = 3 * time.Millisecond
	// pauseAtMost is the maximum of it.
	pauseAtMost = time.Second
)

// session exchanges frames with one node at a time. One goroutine connects and sends, a second one receives.
type session struct {
	options Options
	nodes   []endpoint
	// frame is the maximum length of a frame that can be divided: it must fit whichever node it goes to.
	frame int
	// calls are the operations that wait for a batch, requests the complete frames.
	calls    chan *call
	requests chan *request
	// wake makes the sender look at the requests in flight again.
	wake    chan struct{}
	ctx     context.Context
	close   context.CancelFunc
	stopped chan struct{}
	nextID  atomic.Uint32

	// Only the sender uses these.
	held   []*call // operations that did not fit in the last batches
	at     int     // index of the present node
	failed int     // consecutive failures

	mutex    sync.Mutex
	inFlight map[uint32]*request
	heard    time.Time // when the node last answered, or had nothing to answer
	answered bool      // whether it has answered on this connection
	failure  error     // why the last connection ended
}

func newSession(nodes []endpoint, options Options) *session {
	s := &session{
		options: options, nodes: nodes, frame: maxFrame,
		calls: make(chan *call, options.Queue), requests: make(chan *request), wake: make(chan struct{}, 1),
		stopped: make(chan struct{}), inFlight: make(map[uint32]*request),
	}
	if slices.ContainsFunc(nodes, func(n endpoint) bool { return n.network == "udp" }) {
		s.frame = options.Datagram
	}
	s.nextID.Store(rand.Uint32())
	s.ctx, s.close = context.WithCancel(context.Background())
	go s.run()
	return s
}

// run connects to a node whenever there is something to send.
func (s *session) run() {
	defer close(s.stopped)
	for s.waitForRequest() {
		if s.failed >= len(s.nodes) && !s.pause(backoff(firstPause, pauseAtMost, s.failed-len(s.nodes))) {
			return
		}
		err := s.connect()
		s.mutex.Lock()
		if s.answered {
			s.failed = 0
		}
		isIdle := len(s.inFlight) == 0
		s.failure = err
		s.mutex.Unlock()
		if !isIdle {
			// The node did not answer everything: turn to the next one.
			s.at = (s.at + 1) % len(s.nodes)
			s.failed++
		}
	}
}

// waitForRequest returns once a request is in flight, or false once the session is closed.
func (s *session) waitForRequest() bool {
	s.dropAbandoned()
	for s.ctx.Err() == nil {
		if s.count() > 0 {
			return true
		}
		select {
		case first := <-s.calls:
			s.held = append(s.held, first)
		case request := <-s.requests:
			s.add(request, time.Now())
		case <-s.ready():
			if request := s.batch(); request != nil {
				s.add(request, time.Now())
			}
		case <-s.ctx.Done():
		}
	}
	return false
}

// pause waits, and returns false if the session was closed.
func (s *session) pause(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// patience is how long a node may be silent, or refuse to take a frame.
func (s *session) patience() time.Duration {
	if len(s.nodes) == 1 {
		return 4 * s.options.TurnAfter
	}
	return s.options.TurnAfter
}

// connect exchanges frames with the present node until the connection ends.
func (s *session) connect() error {
	s.mutex.Lock()
	s.answered = false
	s.mutex.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, s.patience())
	node := s.nodes[s.at]
	connection, err := s.options.Dial(ctx, node.network, node.address)
	cancel()
	if err != nil {
		return err
	}
	peer := link{connection, node.network == "udp", s.patience()}
	if udp, isUDP := connection.(*net.UDPConn); isUDP {
		// Room for the replies to all frames in flight; the kernel may grant less.
		udp.SetReadBuffer(receiveBuffer)
	}
	// Ends a read or write that is waiting when the session is closed.
	stop := context.AfterFunc(s.ctx, func() { connection.Close() })
	defer stop()
	received := make(chan error, 1)
	go func() { received <- s.receive(peer) }()
	err = s.send(peer, received)
	connection.Close()
	if errors.Is(err, errReceiver) {
		err = <-received
	} else {
		<-received
	}
	return fmt.Errorf("node %s: %w", node.address, err)
}

var (
	errReceiver = errors.New("the receiver ended")
	errSilent   = errors.New("the node did not answer in time")
)

// send sends everything in flight, then what callers submit. It returns when the connection ends.
func (s *session) send(peer link, received chan error) error {
	now := time.Now()
	s.mutex.Lock()
	s.heard = now
	for _, request := range s.inFlight {
		request.due = now
	}
	s.mutex.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	armed := now
	for {
		var request *request
		ready, calls, requests := s.ready(), s.calls, s.requests
		if s.count() >= s.options.Window {
			// What has no room waits, so that the next batches are larger.
			ready, calls, requests = nil, nil, nil
		}
		select {
		case <-ready:
			request = s.batch()
		case first := <-calls:
			s.held = append(s.held, first)
			request = s.batch()
		case request = <-requests:
		case <-s.wake:
		case <-timer.C:
			armed = time.Time{}
			for _, due := range s.due(time.Now()) {
				if err := peer.write(due.frame); err != nil {
					return err
				}
			}
			if s.isSilent(time.Now()) {
				return errSilent
			}
		case err := <-received:
			received <- err
			return errReceiver
		case <-s.ctx.Done():
			return ErrClosed
		}
		var next time.Time
		if request == nil {
			next = s.nextDue()
		} else {
			next = s.add(request, time.Now())
			if err := peer.write(request.frame); err != nil {
				return err
			}
		}
		if !next.IsZero() && (armed.IsZero() || next.Before(armed)) {
			armed = next
			timer.Reset(time.Until(next))
		}
	}
}

// always is a channel that can always be received from.
var always = func() chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}()

// ready can be received from if there are held operations. In a select they compete fairly with other requests.
func (s *session) ready() chan struct{} {
	if len(s.held) > 0 {
		return always
	}
	return nil
}

// batch takes the operations that fit together with the first held one, of all that wait. The others are held. It returns
// nil if nobody waits for any.
func (s *session) batch() *request {
	for len(s.held) < s.options.Queue {
		select {
		case call := <-s.calls:
			s.held = append(s.held, call)
			continue
		default:
		}
		break
	}
	s.held = slices.DeleteFunc(s.held, func(call *call) bool { return call.ctx.Err() != nil })
	if len(s.held) == 0 {
		return nil
	}
	first := s.held[0]
	var taken, left []*call
	for _, call := range s.held {
		if call.fits(first) && len(taken) < s.maxEntries(first.format) {
			taken = append(taken, call)
		} else {
			left = append(left, call)
		}
	}
	s.held = left
	return sharedBatch(s.nextID.Add(1), taken)
}

// maxEntries returns how many entries of a format are sent in a frame.
func (s *session) maxEntries(format batchFormat) int { return maxEntries(format, s.frame) }

// receive passes on replies until the connection ends. A node that sends anything else on a stream is faulty. A datagram
// may be anybody's, so what is not a reply is dropped.
func (s *session) receive(peer link) error {
	read := peer.reader()
	for {
		frame, err := read()
		if err != nil {
			return err
		}
		reply, err := parseReply(frame)
		if err == nil && !s.take(reply, time.Now()) {
			err = ErrWrongReply
		}
		if err != nil && !peer.isDatagram {
			return err
		}
	}
}

// receiveBuffer is the size of the kernel's buffer for datagrams.
const receiveBuffer = 4 << 20

// link is a connection that carries frames: after their lengths in a stream, or one in each datagram.
type link struct {
	net.Conn
	isDatagram bool
	// patience is how long a write may take.
	patience time.Duration
}

// write sends a frame, which has its length before it.
func (l link) write(frame []byte) error {
	if l.isDatagram {
		frame = frame[prefixSize:]
	}
	l.SetWriteDeadline(time.Now().Add(l.patience))
	_, err := l.Write(frame)
	return err
}

// reader returns a function that reads the next frame, and overwrites the one before.
func (l link) reader() func() ([]byte, error) {
	buffer := make([]byte, maxFrame)
	if l.isDatagram {
		return func() ([]byte, error) {
			length, err := l.Read(buffer)
			return buffer[:length], err
		}
	}
	input := bufio.NewReaderSize(l.Conn, 64<<10)
	return func() ([]byte, error) { return readFrame(input, buffer) }
}

// readFrame reads a frame after its length into a buffer for the longest one.
func readFrame(input io.Reader, buffer []byte) ([]byte, error) {
	if _, err := io.ReadFull(input, buffer[:prefixSize]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(buffer)
	if length > maxFrame {
		return nil, malformed("a frame has %d bytes", length)
	}
	_, err := io.ReadFull(input, buffer[:length])
	return buffer[:length], err
}

// take processes a reply. It returns false if the reply does not match its request. Replies to requests that are not in
// flight are late, and ignored.
func (s *session) take(reply reply, now time.Time) bool {
	s.mutex.Lock()
	request := s.inFlight[reply.id]
	s.mutex.Unlock()
	if request == nil {
		return true
	}
	if !reply.answers(request.frame[prefixSize:]) {
		return false
	}
	var receipts []Receipt
	transient := reply.status
	if reply.kind == frameTypeBatch && reply.status == StatusOk {
		if receipts = reply.receipts(request.frame[prefixSize:]); receipts == nil {
			return false
		}
		if !request.isShared {
			transient = firstTransient(receipts)
		}
	}

	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.heard, s.answered = now, true
	if s.inFlight[reply.id] != request {
		return true // a duplicate was faster
	}
	if transient.isTransient() {
		// The node did not execute it all: the rest may succeed later, and what it executed gets the same result.
		request.refused(transient)
		s.postpone(request, now)
		return true
	}
	delete(s.inFlight, reply.id)
	if len(s.inFlight) == s.options.Window-1 {
		s.wakeSender()
	}
	if receipts == nil {
		// The buffer is used for the next frame.
		reply.frame = bytes.Clone(reply.frame)
	}
	if !request.isShared || receipts == nil {
		for _, waiter := range request.waiters {
			waiter.answer <- answer{reply, receipts}
		}
		return true
	}
	if rest := request.settle(reply, receipts, s.nextID.Add(1)); rest != nil {
		s.inFlight[rest.id] = rest
		s.postpone(rest, now)
	}
	return true
}

// firstTransient returns the first status that may change with a retry, or StatusOk.
func firstTransient(receipts []Receipt) Status {
	for i := range receipts {
		if receipts[i].Status.isTransient() {
			return receipts[i].Status
		}
	}
	return StatusOk
}

// postpone schedules another attempt at a refused request. The lock is held.
func (s *session) postpone(request *request, now time.Time) {
	request.due = now.Add(backoff(firstPause, pauseAtMost, request.refusals))
	request.refusals++
	s.wakeSender()
}

func (s *session) wakeSender() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// add puts a request in flight, and returns when it is due again.
func (s *session) add(request *request, now time.Time) time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.inFlight) == 0 {
		s.heard = now
	}
	request.due = now.Add(backoff(s.options.RetryAfter, retryAtMost, 0))
	s.inFlight[request.id] = request
	return request.due
}

func (s *session) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.inFlight)
}

// dropAbandoned removes requests that nobody waits for, which would otherwise fill the window.
func (s *session) dropAbandoned() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for id, request := range s.inFlight {
		if request.isAbandoned() {
			delete(s.inFlight, id)
		}
	}
}

// due returns the requests to send again.
func (s *session) due(now time.Time) (due []*request) {
	s.dropAbandoned()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, request := range s.inFlight {
		if !now.Before(request.due) {
			request.attempts++
			request.due = now.Add(backoff(s.options.RetryAfter, retryAtMost, request.attempts))
			due = append(due, request)
		}
	}
	return due
}

// nextDue returns when to look at the requests in flight again; zero if there are none.
func (s *session) nextDue() (next time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.inFlight) == 0 {
		return next
	}
	next = s.heard.Add(s.patience())
	for _, request := range s.inFlight {
		if request.due.Before(next) {
			next = request.due
		}
	}
	return next
}

// isSilent reports whether the node owes an answer for too long.
func (s *session) isSilent(now time.Time) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.inFlight) > 0 && now.Sub(s.heard) >= s.patience()
}

// lastFailure returns why the last connection ended, or nil.
func (s *session) lastFailure() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.failure
}

// backoff returns the wait after some attempts: doubled each time, of which up to a quarter is random, so that clients
// do not retry at the same moment.
func backoff(first, most time.Duration, attempts int) time.Duration {
	wait := most
	if attempts < 16 && first<<attempts < most {
		wait = first << attempts
	}
	return wait - rand.N(wait/4+1)
}
