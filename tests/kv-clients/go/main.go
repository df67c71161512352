// gomemcache against two servers: clients FIRST SECOND TLS CERTIFICATE, the first three as HOST:PORT, the last a file.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"math/rand"
	"net"
	"os"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const steps = 2000

// check ends the program where something is not as it should be.
func check(is bool, what string, arguments ...any) {
	if !is {
		log.Fatalf(what, arguments...)
	}
}

// likeAMap does random requests on keys of its own beside a map.
func likeAMap(client *memcache.Client, name string) {
	chance := rand.New(rand.NewSource(int64(len(name))))
	model := map[string][]byte{}
	for step := 0; step < steps; step++ {
		key := fmt.Sprintf("%s-%d", name, chance.Intn(50))
		value := make([]byte, []int{0, 1, 20, 500, 3000}[chance.Intn(5)])
		chance.Read(value)
		item := &memcache.Item{Key: key, Value: value, Flags: uint32(step)}
		old, has := model[key]
		switch chance.Intn(8) {
		case 0:
			check(client.Set(item) == nil, "set")
			model[key] = value
		case 1:
			err := client.Add(item)
			check((err == nil) == !has && (err == nil || errors.Is(err, memcache.ErrNotStored)), "add: %v", err)
			if !has {
				model[key] = value
			}
		case 2:
			err := client.Replace(item)
			check((err == nil) == has, "replace: %v", err)
			if has {
				model[key] = value
			}
		case 3:
			if len(old) < 100000 {
				err := client.Append(item)
				check((err == nil) == has, "append: %v", err)
				if has {
					model[key] = append(bytes.Clone(old), value...)
				}
			}
		case 4:
			err := client.Delete(key)
			check((err == nil) == has && (err == nil || errors.Is(err, memcache.ErrCacheMiss)), "delete: %v", err)
			delete(model, key)
		case 5:
			found, err := client.Get(key)
			check((err == nil) == has, "get: %v", err)
			if has {
				check(bytes.Equal(found.Value, old), "get of %s gives something else", key)
				found.Value = value
				check(client.CompareAndSwap(found) == nil, "compare and swap")
				check(errors.Is(client.CompareAndSwap(found), memcache.ErrCASConflict), "the same number twice")
				model[key] = value
			}
		case 6:
			err := client.Touch(key, 1000)
			check((err == nil) == has, "touch: %v", err)
		case 7:
			keys := []string{}
			for n := 0; n < 50; n++ {
				keys = append(keys, fmt.Sprintf("%s-%d", name, n))
			}
			found, err := client.GetMulti(keys)
			check(err == nil && len(found) == len(model), "%d items of %d: %v", len(found), len(model), err)
			for key, item := range found {
				check(bytes.Equal(item.Value, model[key]), "get of many gives something else for %s", key)
			}
		}
	}
	number := &memcache.Item{Key: name + "-number", Value: []byte("41")}
	check(client.Set(number) == nil, "set")
	sum, err := client.Increment(number.Key, 1)
	check(err == nil && sum == 42, "increment: %d, %v", sum, err)
	sum, err = client.Decrement(number.Key, 50)
	check(err == nil && sum == 0, "decrement: %d, %v", sum, err)
}

func main() {
	log.SetFlags(0)
	check(len(os.Args) == 5, "usage: clients FIRST SECOND TLS CERTIFICATE")
	client := memcache.New(os.Args[1], os.Args[2])
	client.Timeout = 20 * time.Second
	client.MaxIdleConns = 8
	check(client.Ping() == nil, "ping")
	check(client.FlushAll() == nil, "flush_all")
	var all sync.WaitGroup
	for n := 0; n < 8; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			likeAMap(client, fmt.Sprintf("go%d", n))
		}()
	}
	all.Wait()

	certificate, err := os.ReadFile(os.Args[4])
	check(err == nil, "%v", err)
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(certificate), "%s has no certificate", os.Args[4])
	secure := memcache.New(os.Args[3])
	secure.Timeout = 20 * time.Second
	secure.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
		return dialer.DialContext(ctx, network, address)
	}
	likeAMap(secure, "tls")
	fmt.Printf("gomemcache: %d requests as a map by 8 goroutines on two servers, %d by TLS\n", 8*steps, steps)
}
