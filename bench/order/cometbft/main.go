// CometBFT as a peer of order-bench: four validators as processes on this machine, over TCP on loopback, that agree on opaque
// transactions. `bench/order/run` runs all of it. Figures have the names, the units and the lines of those they stand next to.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	validators    = 4
	decisionsFile = "decided.log"
	// Before anything is measured, validators connect and fill what they fill once.
	warmUp = 2 * time.Second
	// Longest time that validators take to connect, on a machine that does much else.
	connect = 60 * time.Second
	// Blocks after which validators count as connected.
	connected = 20
)

func main() {
	log.SetFlags(0)
	name := flag.String("name", "", "what the figures are named after")
	directory := flag.String("directory", "", "where validators store: on tmpfs, or on the disk that is measured")
	seconds := flag.Float64("seconds", 10, "seconds that are measured")
	body := flag.Int("body", 0, "bytes of the transaction that each proposer makes itself; 0: proposals are of the mempool")
	size := flag.Int("transaction", 0, "bytes of the transactions that are put into the mempool")
	single := flag.Bool("single", false, "one transaction at a time instead of full mempools")
	number := flag.Int("validator", -1, "run one validator, by number; the others start it")
	ports := flag.String("ports", "", "the port of each validator on loopback, by number")
	since := flag.Int64("since", 0, "the time of the genesis, in seconds since the Unix epoch")
	flag.Parse()
	shape := shape{body: *body, transaction: *size, single: *single}
	if (shape.body == 0) == (shape.transaction == 0) || shape.body+shape.transaction < stamp {
		log.Fatalf("either --body or --transaction has to be given, of at least %d bytes", stamp)
	}
	var err error
	if *number >= 0 {
		err = validate(*directory, *number, strings.Split(*ports, ","), time.Unix(*since, 0), shape)
	} else {
		err = measure(*name, *directory, time.Duration(*seconds*float64(time.Second)), shape)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// freePorts gives a port on loopback for each validator. All are open at once, so that no two are the same.
func freePorts() ([]string, error) {
	ports := []string{}
	for range validators {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}

// cluster is the validators, with their data in folders of a directory.
type cluster struct {
	directory string
	running   []*exec.Cmd
}

func (c *cluster) home(number int) string {
	return filepath.Join(c.directory, strconv.Itoa(number))
}

// start starts all validators, with the arguments of this program.
func (c *cluster) start() error {
	ports, err := freePorts()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	since := strconv.FormatInt(time.Now().Unix(), 10)
	for number := range validators {
		if err := os.Mkdir(c.home(number), 0o700); err != nil {
			return err
		}
		messages, err := os.Create(filepath.Join(c.home(number), "stderr"))
		if err != nil {
			return err
		}
		defer messages.Close()
		// Of an argument that is given twice, the last counts.
		arguments := append(slices.Clone(os.Args[1:]), "--directory", c.home(number), "--validator", strconv.Itoa(number),
			"--ports", strings.Join(ports, ","), "--since", since)
		command := exec.Command(program, arguments...)
		command.Stderr = messages
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := command.Start(); err != nil {
			return err
		}
		c.running = append(c.running, command)
	}
	return nil
}

// stop ends all validators.
func (c *cluster) stop() {
	for _, command := range c.running {
		// It may have ended on its own, which a look at its standard error tells.
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}

// decision is what a validator wrote down of a block.
type decision struct {
	hash string
	// From its proposal here, or from when one of its transactions was asked for here; zero of all others.
	took         time.Duration
	transactions int
}

// decisions reads what a validator wrote down, by height from 1 on.
func (c *cluster) decisions(number int) ([]decision, error) {
	text, err := os.ReadFile(filepath.Join(c.home(number), decisionsFile))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	found := []decision{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		// The last one may be under way.
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if len(fields) != 4 || fields[0] != strconv.Itoa(len(found)+1) {
			return nil, fmt.Errorf("validator %d wrote %q after block %d", number, line, len(found))
		}
		made := decision{hash: fields[1]}
		if fields[2] != "-" {
			microseconds, err := strconv.Atoi(fields[2])
			if err != nil {
				return nil, err
			}
			made.took = time.Duration(microseconds) * time.Microsecond
		}
		if made.transactions, err = strconv.Atoi(fields[3]); err != nil {
			return nil, err
		}
		found = append(found, made)
	}
	return found, nil
}

// reach waits until all validators have so many blocks.
func (c *cluster) reach(height int, limit time.Duration) error {
	since := time.Now()
	for number := range validators {
		for {
			found, err := c.decisions(number)
			if err != nil {
				return err
			}
			if len(found) >= height {
				break
			}
			if time.Since(since) > limit {
				messages, _ := os.ReadFile(filepath.Join(c.home(number), "stderr"))
				return fmt.Errorf("validator %d is at %d and not at %d; the end of what it said: %s", number, len(found), height,
					messages[max(0, len(messages)-2000):])
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// measure prints and records what validators reach.
func measure(name, directory string, length time.Duration, shape shape) error {
	// Validators end with the thread that starts them.
	runtime.LockOSThread()
	directory, err := os.MkdirTemp(directory, "cometbft")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	cluster := &cluster{directory: directory}
	defer cluster.stop()
	if err := cluster.start(); err != nil {
		return err
	}
	if err := cluster.reach(connected, connect); err != nil {
		return err
	}
	time.Sleep(warmUp)
	before, err := cluster.decisions(0)
	if err != nil {
		return err
	}
	since := time.Now()
	time.Sleep(length)
	after, err := cluster.decisions(0)
	if err != nil {
		return err
	}
	seconds := time.Since(since).Seconds()
	first, last := len(before), len(after)
	transactions, took := 0, []time.Duration{}
	for number := range validators {
		all, err := cluster.decisions(number)
		if err != nil {
			return err
		}
		for height := first; height < min(last, len(all)); height++ {
			if all[height].hash != after[height].hash {
				return fmt.Errorf("validator %d has another block %d", number, height+1)
			}
			if all[height].took > 0 {
				took = append(took, all[height].took)
			}
		}
	}
	for _, block := range after[first:last] {
		transactions += block.transactions
	}
	if transactions == 0 {
		return errors.New("nothing was decided while it was measured")
	}
	rate := float64(transactions) / seconds
	figures := []figure{}
	if shape.body > 0 || shape.single {
		slices.Sort(took)
		figures = append(figures, figure{name + ", p50", quantile(took, 0.5), "ms"}, figure{name + ", p99", quantile(took, 0.99), "ms"})
	}
	if shape.body > 0 {
		figures = append(figures, figure{name + ", bodies", rate, "/s"},
			figure{name + ", transactions of 256 bytes", rate * float64(shape.body/256), "/s"})
	} else {
		figures = append(figures, figure{name, rate, "/s"})
	}
	return record(figures)
}

// figure is one that was measured.
type figure struct {
	name  string
	value float64
	unit  string
}

// record prints figures, and keeps them where TURNPIKE_FIGURES says, in lines of name, value and unit, and no peer.
func record(figures []figure) error {
	lines := ""
	for _, figure := range figures {
		fmt.Printf("CometBFT: %s: %.2f %s\n", figure.name, figure.value, figure.unit)
		lines += fmt.Sprintf("%s\t%g\t%s\t\t\n", figure.name, figure.value, figure.unit)
	}
	path := os.Getenv("TURNPIKE_FIGURES")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(lines)
	return errors.Join(err, file.Close())
}

// quantile is the value that a share of sorted values is not above, in milliseconds.
func quantile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return float64(sorted[min(int(float64(len(sorted))*share), len(sorted)-1)].Microseconds()) / 1000
}
