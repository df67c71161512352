package turnpike

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

// udpScheme precedes the address of a node that is asked over UDP.
const udpScheme = "udp://"

// endpoint is a node's address, and the network over which it is asked: tcp or udp.
type endpoint struct {
	network, address string
}

// Options of a client. The zero value of each field stands for its default.
type Options struct {
	// Promise that the client waits for; by default the node's configured one. [Client.WithPromise] changes it.
	Promise Promise
	// Timeout after which a call, or a frame of a batch, is given up; 10 s by default. A context may end it earlier.
	Timeout time.Duration
	// RetryAfter is the wait for a reply before a request is repeated, 1 s by default; doubled each time up to 4 s.
	RetryAfter time.Duration
	// TurnAfter is how long a node with requests to answer may send nothing before the client turns to the next one, or,
	// if it is the only one, connects again four times later. 1 s by default: replicas take less to replace a leader.
	TurnAfter time.Duration
	// Window is the maximum number of frames without a reply, 32 by default. Each has up to 64 KiB.
	Window int
	// Queue is the maximum number of operations that wait for a batch, 4,096 by default. Further calls block.
	Queue int
	// Datagram is the maximum number of bytes of a datagram, if a node is udp://: batches are divided so that they fit.
	// 1,472 by default, which Ethernet carries whole; up to 65,507 on loopback.
	Datagram int
	// Dial opens connections, by default without TLS. The network is tcp or udp.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Options) withDefaults() (Options, error) {
	for _, field := range []struct {
		name   string
		value  *time.Duration
		normal time.Duration
	}{
		{"Timeout", &o.Timeout, 10 * time.Second},
		{"RetryAfter", &o.RetryAfter, time.Second},
		{"TurnAfter", &o.TurnAfter, time.Second},
	} {
		if *field.value == 0 {
			*field.value = field.normal
		}
		if *field.value < 0 {
			return o, &OptionError{field.name, "a duration must be positive"}
		}
	}
	for _, field := range []struct {
		name                string
		value               *int
		normal, least, most int
	}{
		{"Window", &o.Window, 32, 1, 1 << 14},
		{"Queue", &o.Queue, 4096, 1, 1 << 24},
		{"Datagram", &o.Datagram, ethernetDatagram, minDatagram, maxDatagram},
	} {
		if *field.value == 0 {
			*field.value = field.normal
		}
		if *field.value < field.least || *field.value > field.most {
			return o, &OptionError{field.name, "out of range"}
		}
	}
	if o.Promise > PromiseFinal {
		return o, &OptionError{"Promise", "unknown to this version"}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return o, nil
}

// addresses reads the nodes' addresses, and appends the default port to hosts without one.
func addresses(nodes []string) ([]endpoint, error) {
	if len(nodes) == 0 {
		return nil, &OptionError{"nodes", "name at least one node, as HOST:PORT"}
	}
	complete := make([]endpoint, len(nodes))
	for i, given := range nodes {
		address, isUDP := strings.CutPrefix(given, udpScheme)
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = strings.Trim(address, "[]"), strconv.Itoa(defaultPort)
		}
		isInvalid := strings.Contains(host, "/") || strings.Contains(host, ":") && net.ParseIP(host) == nil
		if host == "" || port == "" || isInvalid {
			return nil, &OptionError{"nodes", "invalid address " + strconv.Quote(given)}
		}
		complete[i] = endpoint{"tcp", net.JoinHostPort(host, port)}
		if isUDP {
			complete[i].network = "udp"
		}
	}
	return complete, nil
}
