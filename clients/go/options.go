package turnpike

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

// defaultPort is the port of nodes given without one.
const defaultPort = "7400"

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
	// Dial opens connections, by default TCP without TLS.
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
		name         string
		value        *int
		normal, most int
	}{{"Window", &o.Window, 32, 1 << 14}, {"Queue", &o.Queue, 4096, 1 << 24}} {
		if *field.value == 0 {
			*field.value = field.normal
		}
		if *field.value < 1 || *field.value > field.most {
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

// addresses appends the default port to hosts without one.
func addresses(nodes []string) ([]string, error) {
	if len(nodes) == 0 {
		return nil, &OptionError{"nodes", "name at least one node, as HOST:PORT"}
	}
	complete := make([]string, len(nodes))
	for i, node := range nodes {
		host, port, err := net.SplitHostPort(node)
		if err != nil {
			host, port = strings.Trim(node, "[]"), defaultPort
		}
		if host == "" || port == "" || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return nil, &OptionError{"nodes", "invalid address " + strconv.Quote(node)}
		}
		complete[i] = net.JoinHostPort(host, port)
	}
	return complete, nil
}
