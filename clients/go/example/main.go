// Command example transfers money, and proves the balance of the receiver. Run it beside a node that trusts this machine:
//
//	turnpike serve --data data --trusted 127.0.0.0/8 &
//	go run ./example 127.0.0.1:7400
//
// With the network id as second argument it accepts no other network.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"turnpike.example/turnpike"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(os.Args) < 2 {
		log.Fatal("usage: example HOST[:PORT] [NETWORK-ID]")
	}
	receipt, err := pay(ctx, os.Args[1])
	if err == nil {
		err = prove(ctx, os.Args[1], receipt)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// pay opens two accounts and transfers money.
func pay(ctx context.Context, node string) (turnpike.Receipt, error) {
	client, err := turnpike.New([]string{node}, turnpike.Options{Promise: turnpike.PromiseDurable})
	if err != nil {
		return turnpike.Receipt{}, err
	}
	defer client.Close()
	alice, bob := turnpike.Account(1), turnpike.Account(2)
	_, err = client.ExecuteBatch(ctx, []turnpike.Operation{
		turnpike.Create(alice), turnpike.Create(bob), turnpike.Issue(alice, 1000),
	})
	if err != nil {
		return turnpike.Receipt{}, err
	}
	receipt, err := client.Transfer(ctx, alice, bob, 50)
	if errors.Is(err, turnpike.StatusInsufficientBalance) {
		fmt.Println("alice has only", receipt.Value)
	}
	return receipt, err
}

// prove waits until the transfer is in a block, and verifies the proof of the balance that it left.
func prove(ctx context.Context, node string, receipt turnpike.Receipt) error {
	fmt.Printf("transaction %s is %s, and alice has %d left\n", receipt.Transaction, receipt.Promise, receipt.Value)
	client, err := turnpike.New([]string{node}, turnpike.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	network, err := pinned(ctx, client)
	if err != nil {
		return err
	}
	chain, err := client.OpenChain(ctx, network)
	if err != nil {
		return err
	}
	for {
		proof, err := client.ProveTransaction(ctx, chain, receipt.Transaction, turnpike.Account(1))
		if errors.Is(err, turnpike.StatusNotFound) && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond) // it is not in a block yet
			continue
		}
		if err != nil {
			return err
		}
		fmt.Printf("proved: it is transaction %d of block %d\n", proof.Position, proof.Height)
		break
	}
	proof, err := client.ProveBalance(ctx, chain, turnpike.Account(2))
	if err != nil {
		return err
	}
	fmt.Printf("proved: bob has %d as of block %d\n", proof.Entry.Balance, proof.Height)
	return nil
}

// pinned returns the network id of the arguments. Without one it trusts the node.
func pinned(ctx context.Context, client *turnpike.Client) (network turnpike.NetworkID, err error) {
	if len(os.Args) < 3 {
		info, err := client.Info(ctx)
		return info.Network, err
	}
	decoded, err := hex.DecodeString(os.Args[2])
	if err != nil || len(decoded) != len(network) {
		return network, errors.New("a network id has 64 hexadecimal digits")
	}
	return turnpike.NetworkID(decoded), nil
}
