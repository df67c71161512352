//go:build unix

// Command bench measures durable transfers per second in batches, and the latency of single transfers, against a node
// that it starts on loopback: TURNPIKE=target/release/turnpike go run ./bench
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"turnpike.example/turnpike"
)

const (
	accounts = 10_000
	batch    = 1023
)

var (
	program  = flag.String("program", cmp.Or(os.Getenv("TURNPIKE"), "../../target/release/turnpike"), "path of the program turnpike")
	rounds   = flag.Int("rounds", 5, "rounds; the median counts")
	batches  = flag.Int("batches", 1000, "batches per round")
	inFlight = flag.Int("in-flight", 4, "batches in flight")
	singles  = flag.Int("singles", 2000, "single transfers")
	profile  = flag.String("profile", "", "write a profile of the processor time to this file")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	node, stop, err := start()
	if err != nil {
		return err
	}
	defer stop()
	client, err := turnpike.New([]string{node}, turnpike.Options{Promise: turnpike.PromiseDurable})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := fund(ctx, client); err != nil {
		return err
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}

	var rates, costs []float64
	for range *rounds {
		processor, began := processorTime(), time.Now()
		if err := transfer(ctx, client); err != nil {
			return err
		}
		transfers := float64(*batches * batch)
		rates = append(rates, transfers/time.Since(began).Seconds())
		costs = append(costs, float64((processorTime()-processor).Nanoseconds())/transfers)
	}
	slices.Sort(rates)
	slices.Sort(costs)
	fmt.Printf("durable transfers, %d batches in flight, medians of %d rounds; rates from %.0f to %.0f/s\n",
		*inFlight, *rounds, rates[0], rates[*rounds-1])
	if err := report(fmt.Sprintf("batches of %d", batch), rates[*rounds/2], "/s"); err != nil {
		return err
	}
	if err := report("processor time of the client for a transfer", costs[*rounds/2], "ns"); err != nil {
		return err
	}
	if err := one(ctx, client, "one at a time"); err != nil {
		return err
	}
	udp, err := turnpike.New([]string{"udp://" + node}, turnpike.Options{Promise: turnpike.PromiseDurable})
	if err != nil {
		return err
	}
	defer udp.Close()
	return one(ctx, udp, "one at a time over UDP")
}

// one measures single transfers.
func one(ctx context.Context, client *turnpike.Client, name string) error {
	latencies := make([]time.Duration, *singles)
	for i := range latencies {
		began := time.Now()
		if _, err := client.Transfer(ctx, account(i), account(i+1), 1); err != nil {
			return err
		}
		latencies[i] = time.Since(began)
	}
	slices.Sort(latencies)
	for _, percentile := range []int{50, 99} {
		micros := float64(latencies[*singles*percentile/100].Nanoseconds()) / 1e3
		if err := report(fmt.Sprintf("%s, p%d", name, percentile), micros, "us"); err != nil {
			return err
		}
	}
	return nil
}

// report prints a figure, and adds it to those of bench/clients/run.
func report(name string, value float64, unit string) error {
	fmt.Printf("%-45s %12.0f %s\n", name, value, unit)
	path := os.Getenv("TURNPIKE_FIGURES")
	if path == "" {
		return nil
	}
	figures, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer figures.Close()
	_, err = fmt.Fprintf(figures, "Go, %s\t%g\t%s\t\t\n", name, value, unit)
	return err
}

func account(i int) turnpike.AccountID { return turnpike.Account(uint64(1 + i%accounts)) }

// fund creates the accounts, each with a balance.
func fund(ctx context.Context, client *turnpike.Client) error {
	var operations []turnpike.Operation
	for i := range accounts {
		operations = append(operations, turnpike.Create(account(i)), turnpike.Issue(account(i), 1<<40))
	}
	receipts, err := client.ExecuteBatch(ctx, operations)
	for i := 0; err == nil && i < len(receipts); i++ {
		err = receipts[i].Err()
	}
	return err
}

// transfer executes the batches of a round.
func transfer(ctx context.Context, client *turnpike.Client) error {
	var group sync.WaitGroup
	errs := make(chan error, *inFlight)
	for worker := range *inFlight {
		group.Add(1)
		go func() {
			defer group.Done()
			operations := make([]turnpike.Operation, batch)
			for number := worker; number < *batches; number += *inFlight {
				for i := range operations {
					from := number*batch + i
					operations[i] = turnpike.Transfer(account(from), account(from*7+1), 1)
				}
				receipts, err := client.ExecuteBatch(ctx, operations)
				for i := 0; err == nil && i < len(receipts); i++ {
					if receipts[i].Status != turnpike.StatusOk && receipts[i].Status != turnpike.StatusSelfTransfer {
						err = receipts[i].Err()
					}
				}
				if err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	group.Wait()
	close(errs)
	return <-errs
}

// processorTime is that of this process.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// start starts a node, and returns its address once it answers.
func start() (string, func(), error) {
	folder, err := os.MkdirTemp("", "turnpike-bench")
	if err != nil {
		return "", nil, err
	}
	// Outside of the range that the system assigns to connections.
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))
	address := host + ":20000"
	node := exec.Command(*program, "serve", "--log", "error", "--data", filepath.Join(folder, "data"),
		"--listen", address, "--http", host+":20001", "--trusted", "127.0.0.0/8")
	node.Stderr = os.Stderr
	if err := node.Start(); err != nil {
		return "", nil, fmt.Errorf("start the node: %w; set TURNPIKE to the path of the program", err)
	}
	stop := func() {
		node.Process.Kill()
		node.Wait()
		os.RemoveAll(folder)
	}
	return address, stop, nil
}
