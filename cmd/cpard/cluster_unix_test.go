//go:build linux || darwin || freebsd

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/natstest"
)

// A testCluster is a set of processes: nodes over stock NATS servers and an S3
// server.
type testCluster struct {
	t        *testing.T
	nats     *natstest.Servers
	storage  *buckettest.Process
	machines []*remoteDaemon
}

func startCluster(t *testing.T, servers int, roles ...string) *testCluster {
	t.Helper()
	c := &testCluster{t: t, nats: natstest.Start(t, servers), storage: buckettest.Versity(t)}
	for range roles {
		c.machines = append(c.machines, &remoteDaemon{t: t, place: c.storage.Endpoint, data: filepath.Join(t.TempDir(), "data")})
	}
	var starting sync.WaitGroup
	for i, role := range roles {
		starting.Go(func() { c.start(i, "--role", role) })
	}
	starting.Wait()
	return c
}

func (c *testCluster) start(i int, args ...string) {
	c.machines[i].start(append([]string{"--nats", c.nats.Addresses(), "--nats-seed", c.nats.Seed, "--nats-ca", c.nats.CA,
		"--node-name", fmt.Sprintf("m%d", i), "--part-bytes", "1"}, args...)...)
}

func requestsTo(m *cpar.Manifest, n int) (list []*cpar.Request) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range n {
		q := &cpar.Request{Index: m.ID, Params: m.DefaultParams(), Vector: make([]uint64, m.Dim)}
		for i := range q.Vector {
			q.Vector[i] = rng.Uint64()
		}
		list = append(list, q)
	}
	return list
}

func answers(ctx context.Context, c *cparhttp.Client, requests []*cpar.Request) (list [][]byte, err error) {
	for _, q := range requests {
		reply, _, err := c.Annotate(ctx, q)
		if err != nil {
			return nil, err
		}
		b, err := reply.MarshalBinary()
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func TestClusterAnswersAsOneMachine(t *testing.T) {
	c := startCluster(t, 3, "all", "all", "all")
	folder, m := large(t, 1, 1)
	if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	alone := &remoteDaemon{t: t, place: buckettest.Versity(t).Endpoint, data: filepath.Join(t.TempDir(), "data")}
	alone.start()
	if _, err := alone.client().Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	requests := requestsTo(m, 20)
	want, err := answers(t.Context(), alone.client(), requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range c.machines {
		start := time.Now()
		got, err := answers(t.Context(), d.client(), requests)
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("machine %d does not reply like a single machine: %v", i, err)
		}
		t.Logf("machine %d: %v a request", i, time.Since(start)/20)
	}
}

// A load repeats each request until the answer is right.
type load struct {
	t       *testing.T
	clients []*cparhttp.Client
	request []*cpar.Request
	want    [][]byte
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	asked int
	took  []time.Duration
	lag   time.Duration // maximum lateness of a timer of this process
}

const tail = 2 * time.Second

// begin starts clients. Each has a router and a fallback, as behind a balancer.
func (c *testCluster) begin(askers int, requests []*cpar.Request, want [][]byte, routers ...int) *load {
	ctx, stop := context.WithCancel(c.t.Context())
	l := &load{t: c.t, request: requests, want: want, stop: stop}
	l.clients = make([]*cparhttp.Client, len(routers))
	for i, r := range routers {
		l.use(i, c.machines[r].client())
	}
	for i := range askers {
		l.running.Go(func() {
			for at := i; ctx.Err() == nil; at++ {
				l.ask(ctx, at)
			}
		})
	}
	l.running.Go(func() {
		const pause = 50 * time.Millisecond
		for ctx.Err() == nil {
			start := time.Now()
			time.Sleep(pause)
			l.mu.Lock()
			l.lag = max(l.lag, time.Since(start)-pause)
			l.mu.Unlock()
		}
	})
	return l
}

// use sends the requests of router number i through `client`.
func (l *load) use(i int, client *cparhttp.Client) {
	client.Busy = 0
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients[i] = client
}

func (l *load) client(try int) *cparhttp.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clients[try%len(l.clients)]
}

func (l *load) ask(ctx context.Context, at int) {
	start, i := time.Now(), at%len(l.request)
	for try := at; ; try++ {
		reply, _, err := l.client(try).Annotate(ctx, l.request[i])
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if time.Since(start) > 10*tail {
				l.t.Errorf("no answer: %v", err)
				return
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if b, err := reply.MarshalBinary(); err != nil || !bytes.Equal(b, l.want[i]) {
			l.t.Errorf("the answer differs from a single machine's (%v)", err)
		}
		break
	}
	took := time.Since(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	l.took = append(l.took, took)
}

// Answers may be as late as timers of this process were, because the machine is
// shared.
func (l *load) during(what string, d time.Duration) {
	l.t.Helper()
	time.Sleep(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	if l.asked == 0 {
		l.t.Fatalf("%s: no request was answered", what)
	}
	p99, longest := l.took[len(l.took)*99/100], l.took[len(l.took)-1]
	l.t.Logf("%s: %d requests, p99 %v, the longest took %v; timers were up to %v late", what, l.asked,
		p99.Round(time.Millisecond), longest.Round(time.Millisecond), l.lag.Round(time.Millisecond))
	if longest > tail+l.lag {
		l.t.Errorf("%s: an answer took %v; it may take %v", what, longest, tail)
	}
	l.asked, l.took, l.lag = 0, nil, 0
}

func (l *load) end() {
	l.stop()
	l.running.Wait()
}

// Every answer arrives within two seconds and equals a single node's.
func TestClusterAnswersDuringFailures(t *testing.T) {
	c := startCluster(t, 3, "router", "router", "node", "node", "node")
	folder, m := large(t, 1, 1)
	if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	requests := requestsTo(m, 20)
	want, err := answers(t.Context(), c.machines[1].client(), requests)
	if err != nil {
		t.Fatal(err)
	}
	l := c.begin(3, requests, want, 0, 1)
	defer l.end()
	l.during("nothing", time.Second)
	c.machines[2].kill()
	l.during("a node is killed", 3*time.Second)
	c.start(2, "--role", "node")
	l.during("it is back", time.Second)
	for i := range 3 { // one of them leads
		c.nats.Kill(i)
		l.during(fmt.Sprintf("broker %d is killed", i), 7*time.Second)
		c.nats.Run(i)
		l.during("it is back", 3*time.Second)
	}
	c.machines[0].kill()
	l.during("a router is killed", 2*time.Second)
	c.start(0, "--role", "router")
	l.use(0, c.machines[0].client())
	for what, p := range map[string]*os.Process{"a node": c.machines[3].cmd.Process, "a broker": c.nats.Process(1)} {
		p.Signal(syscall.SIGSTOP)
		l.during(what+" stands still", 8*time.Second)
		p.Signal(syscall.SIGCONT)
		l.during("it goes on", 2*time.Second)
	}
	c.nats.Kill(0)
	c.nats.Kill(2)
	l.during("two of three brokers are killed", 5*time.Second)
	client := c.machines[1].client()
	client.Busy = 0
	other, _ := large(t, 2, 2)
	if _, err := client.Push(t.Context(), other, nil); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("an index is pushed while two of three brokers are gone: %v", err)
	}
	l.during("and somebody pushes", time.Second)
	c.nats.Run(0)
	c.nats.Run(2)
	l.during("they are back", 5*time.Second)
	client.Busy = time.Minute
	if _, err := client.Push(t.Context(), other, nil); err != nil {
		t.Errorf("the same push: %v", err)
	}
}

func (c *testCluster) run(args ...string) string {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	args = append(append([]string{"cpard", "cluster"}, args...), "--nats", c.nats.Addresses(), "--nats-seed", c.nats.Seed, "--nats-ca", c.nats.CA)
	cmd := exec.Cmd{Path: self, Args: args, Env: append(os.Environ(), "CPARD_CONFIG=none")}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		cmd.Env = append(cmd.Env, name+"="+c.storage.Credential(name))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// NATS servers that lost their data recover through rebuild-meta or the first
// request.
func TestClusterRecoversLostMetadata(t *testing.T) {
	c := startCluster(t, 3, "all", "all")
	folder, m := large(t, 1, 1)
	if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	requests := requestsTo(m, 5)
	want, err := answers(t.Context(), c.machines[1].client(), requests)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"rebuild-meta", "a question"} {
		for i := range 3 {
			c.nats.Kill(i)
			c.nats.Wipe(i)
		}
		for i := range 3 {
			c.nats.Run(i)
		}
		if by == "rebuild-meta" {
			if got := c.run("rebuild-meta", "--store", c.storage.Address); got != "1 index\n" {
				t.Errorf("rebuild-meta says %q", got)
			}
		}
		got, err := answers(t.Context(), c.machines[0].client(), requests)
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("after %s: other answers than before, or none: %v", by, err)
		}
		for try := 0; ; try++ { // electing a leader may take some seconds
			got := c.run("status")
			if strings.Contains(got, "2 nodes, 3 of 3 NATS servers, 1 index") && strings.Contains(got, "m1  ") {
				break
			}
			if try == 10 {
				t.Fatalf("after %s: status %q", by, got)
			}
			if _, err := answers(t.Context(), c.machines[0].client(), requests); err != nil {
				t.Fatal(err)
			}
		}
	}
}
