package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
	"cpar/internal/wire"
)

type pressed struct {
	address string
	m       *cpar.Manifest
	client  *cparhttp.Client
	batch   []byte
	pid     int

	mu   sync.Mutex
	most int64
}

// press starts cpard with this memory limit in MiB and an index with large
// requests.
func press(t *testing.T, megabytes int) *pressed {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("anonymous memory is read from /proc")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--memory", "map", "--max-memory", fmt.Sprintf("%dMiB", megabytes))
	cmd.Args[0] = "cpard"
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	p := &pressed{address: strings.TrimPrefix(url, "http://"), pid: cmd.Process.Pid}
	if p.client, err = cparhttp.New(url, nil); err != nil {
		t.Fatal(err)
	}
	p.push(t)
	p.watch(t)
	return p
}

// watch keeps the largest anonymous memory of the process in most.
func (p *pressed) watch(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			p.look()
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-watched })
}

// peak returns the largest anonymous memory, in kB, during the next d.
func (p *pressed) peak(d time.Duration) int64 {
	p.mu.Lock()
	p.most = 0
	p.mu.Unlock()
	time.Sleep(d)
	p.look()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (p *pressed) push(t *testing.T) {
	folder := t.TempDir()
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p.m = &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: cpar.IndexID{1}, Records: 40, Dim: 16_000, Shift: 10, KeywordBytes: 60_000}
	if err := indexsample.Write(w, p.m, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	one, err := p.request().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var items [][]byte
	for range min(cparhttp.MaxBatch, cparhttp.MaxBatchBytes/(len(one)+8)) {
		items = append(items, one)
	}
	p.batch = wire.AppendBatch(nil, items)
}

func (p *pressed) request() *cpar.Request {
	q := &cpar.Request{Index: p.m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 2, Approx: 1000}, Vector: make([]uint64, p.m.Dim)}
	for i := range q.Vector {
		q.Vector[i] = rand.Uint64()
	}
	return q
}

func (p *pressed) look() {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); f[0] == "RssAnon:" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			p.mu.Lock()
			p.most = max(p.most, kb)
			p.mu.Unlock()
		}
	}
}

func (p *pressed) hostile(t *testing.T, n int, head string, body func(i int, w io.Writer), leave <-chan struct{}) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			c, err := net.Dial("tcp", p.address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			go func() { <-leave; c.Close() }() // cuts off the body
			fmt.Fprintf(c, "POST /v1/indexes/%v/annotate-batch HTTP/1.1\r\nHost: localhost\r\n%s\r\n", p.m.ID, head)
			body(i, c)
			<-leave
		})
	}
	all.Wait()
}

// Under slow, huge and truncated bodies and unread replies, the daemon's
// anonymous memory stays within the announced bound plus 64 MB.
func TestMemoryIsBounded(t *testing.T) {
	const bound = 128
	p := press(t, bound)
	known := fmt.Sprintf("Content-Length: %d\r\n", len(p.batch))
	huge := fmt.Sprintf("Content-Length: %d\r\n", cparhttp.MaxBatchBytes)
	held := func(_ int, w io.Writer) { w.Write(make([]byte, cparhttp.MaxBatchBytes-1)) }
	whole := func(_ int, w io.Writer) { w.Write(p.batch) }
	chunked := func(_ int, w io.Writer) {
		for {
			if _, err := fmt.Fprintf(w, "10000\r\n%s\r\n", bytes.Repeat([]byte{1}, 1<<16)); err != nil {
				return
			}
		}
	}
	slow := func(i int, w io.Writer) {
		w.Write(binary.LittleEndian.AppendUint32(nil, uint32(i)))
		for {
			if _, err := w.Write([]byte{0}); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for _, round := range []struct {
		name string
		do   func(leave <-chan struct{})
	}{
		{"100 held batches of 8 MB", func(leave <-chan struct{}) { p.hostile(t, 100, huge, held, leave) }},
		{"the same, cut off before", func(leave <-chan struct{}) { p.hostile(t, 100, huge, held, leave) }},
		{"96 batches whose replies nobody reads", func(leave <-chan struct{}) { p.hostile(t, 96, known, whole, leave) }},
		{"the same, with the others' remains", func(leave <-chan struct{}) { p.hostile(t, 96, known, whole, leave) }},
		{"endless chunks", func(leave <-chan struct{}) { p.hostile(t, 64, "Transfer-Encoding: chunked\r\n", chunked, leave) }},
		{"a mix", func(leave <-chan struct{}) {
			var all sync.WaitGroup
			all.Go(func() { p.hostile(t, 30, huge, held, leave) })
			all.Go(func() { p.hostile(t, 30, known, whole, leave) })
			all.Go(func() { p.hostile(t, 30, huge, slow, leave) })
			all.Go(func() { p.hostile(t, 30, "Transfer-Encoding: chunked\r\n", chunked, leave) })
			all.Wait()
		}},
	} {
		p.mu.Lock()
		p.most = 0
		p.mu.Unlock()
		leave := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(leave) })
		round.do(leave)
		p.mu.Lock()
		t.Logf("%s: %d MB", round.name, p.most>>10)
		if p.most>>10 > bound+64 && !raceDetector {
			t.Errorf("%s: %d MB of anonymous memory; it states %d MB", round.name, p.most>>10, bound)
		}
		p.mu.Unlock()
	}
	if _, _, err := p.client.Annotate(t.Context(), p.request()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
