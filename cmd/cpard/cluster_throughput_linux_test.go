package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/internal/modq"
)

// millionOf builds an index of scheme sealed whose groups are copies of random
// words below Q. They cost as much to read as real ones.
func millionOf(t *testing.T, records int) (folder string, m *cpar.Manifest, request func(seed uint64) *cpar.Request) {
	t.Helper()
	p, err := lattice.Params{LogN: lattice.Fast.LogN, Dim: 96, Block: 32, LogT: 15, RecordNorm: 127, RequestNorm: 127, Addend: 252}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 96))
	words := func(n int) []byte {
		x := make([]uint64, n)
		for i := range x {
			x[i] = rng.Uint64N(p.Ring().Q)
		}
		return lattice.AppendWords(nil, x)
	}
	m = &cpar.Manifest{Scheme: cpar.SchemeSealed, ID: cpar.IndexID{9, 6}, Dim: 96, Records: uint32(records), KeywordBytes: cpar.KeywordPageBytes(8)}
	folder = filepath.Join(t.TempDir(), "index")
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	add := func(kind cpar.SegmentKind, b []byte) {
		s, err := w.AddSegment(kind)
		if err == nil {
			_, err = s.Write(b)
		}
		var seg cpar.Segment
		if err == nil {
			seg, err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Segments = append(m.Segments, seg)
	}
	g := &lattice.Group{Index: m.ID, Addends: words(p.Records()), Matrix: words(p.Words())}
	const perSegment = 1700 // 64 MB
	segments := 0
	for left, number := records, uint64(0); left > 0; segments++ {
		var b []byte
		for i := 0; i < perSegment && left > 0; i++ {
			g.Count, g.Seed = min(left, p.Records()), sha256.Sum256([]byte(fmt.Sprint(number)))
			left, number = left-g.Count, number+1
			b = g.AppendBinary(b)
		}
		add(cpar.SegmentVectors, b)
	}
	add(cpar.SegmentKeywords, make([]byte, records/cpar.KeywordPageRecords*int(m.KeywordBytes)))
	add(cpar.SegmentKeywords, bytes.Repeat([]byte{1}, int(cpar.KeywordTailBytes(m.KeywordBytes))))
	add(cpar.SegmentLedger, []byte("ledger"))
	params, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	add(cpar.SegmentParams, params)
	for i := range segments {
		add(cpar.SegmentHints, []byte{byte(i)})
	}
	add(cpar.SegmentProfile, []byte("profile"))
	add(cpar.SegmentIdentities, make([]byte, 28+cpar.IdentityBytes*records))
	if err := w.Activate(m); err != nil {
		t.Fatal(err)
	}
	return folder, m, func(seed uint64) *cpar.Request {
		q := &lattice.Request{Index: m.ID, Number: [16]byte{byte(seed)}, Matrix: words(p.Words())}
		return &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeSealed}, Opaque: q.AppendBinary(nil)}
	}
}

func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// shared returns the memory bandwidth of each of two cores reading at once,
// relative to one reading alone.
func shared() float64 {
	memory := make([]uint64, 1<<27)
	for i := range memory {
		memory[i] = uint64(i) // otherwise all pages are the same zero page
	}
	read := func(parts ...[]uint64) (best float64) {
		for range 5 {
			begun := time.Now()
			var reading sync.WaitGroup
			for _, some := range parts {
				reading.Go(func() { _ = modq.SumFour(some) })
			}
			reading.Wait()
			best = max(best, 1/time.Since(begun).Seconds())
		}
		return best
	}
	half := len(memory) / 2
	return read(memory[:half], memory[half:]) / read(memory[:half])
}

// Router, clients, brokers and storage share the cores of the nodes, so
// wall-clock throughput depends on the CPU time they leave. Throughput per
// second of the nodes' own CPU time depends only on the shared memory.
func TestClusterThroughput(t *testing.T) {
	if os.Getenv("CPAR_NIGHTLY") != "required" {
		t.Skip("takes minutes on a quiet machine; CPAR_NIGHTLY=required runs it")
	}
	million, m, request := millionOf(t, 1_000_000)
	scanned := filepath.Join(t.TempDir(), "capia")
	n, err := scan(scanned, 1, 1, 20_000, 1347)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		folder   string
		m        *cpar.Manifest
		requests []*cpar.Request
		part     string
	}{
		{"sealed, a million records of 96 numbers", million, m, []*cpar.Request{request(1), request(2), request(3)}, "200MB"},
		{"capia, 20,000 records of profile paper", scanned, n, requestsTo(n, 16), "100MB"},
	} {
		var rates [2]float64
		for nodes := 1; nodes <= 2; nodes++ {
			byClock, byCore := throughput(t, c.folder, c.m, c.requests, nodes, c.part)
			t.Logf("%s, %d nodes: %.2f GB/s, %.2f GB per second of a node's CPU time", c.name, nodes, byClock/1e9, byCore/1e9)
			rates[nodes-1] = byCore
		}
		memory := min(1, shared())
		ratio := rates[1] / rates[0]
		t.Logf("%s: per core, two nodes read %.2f times as much as one; memory bandwidth allows %.2f times", c.name, ratio, memory)
		if ratio < 0.9*memory {
			t.Errorf("%s: that is less than nine tenths of the possible", c.name)
		}
	}
}

func throughput(t *testing.T, folder string, m *cpar.Manifest, requests []*cpar.Request, nodes int, part string) (byClock, byCore float64) {
	t.Helper()
	c := startCluster(t, 1, "router")
	for i := range nodes {
		d := &remoteDaemon{t: t, place: c.storage.Endpoint, data: filepath.Join(t.TempDir(), "data"), core: strconv.Itoa(i)}
		c.machines = append(c.machines, d)
		c.start(i+1, "--role", "node", "--part-bytes", part)
	}
	c.machines[0].kill()
	c.start(0, "--role", "router", "--part-bytes", part)
	if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	read := uint64(0)
	for _, seg := range m.Segments {
		if seg.Kind == cpar.SegmentVectors {
			read += seg.Bytes
		}
	}
	answered := func(d time.Duration) float64 {
		var n atomic.Int64
		var asking sync.WaitGroup
		end := time.Now().Add(d)
		for i := range 2 * nodes {
			asking.Go(func() {
				client := c.machines[0].client()
				for at := i; time.Now().Before(end); at++ {
					if _, _, err := client.Annotate(t.Context(), requests[at%len(requests)]); err != nil {
						t.Error(err)
						return
					}
					n.Add(1)
				}
			})
		}
		asking.Wait()
		return float64(n.Load())
	}
	answered(2 * time.Second) // the files are in memory then
	used := func() (sum time.Duration) {
		for _, d := range c.machines[1:] {
			sum += processorTime(t, d.cmd.Process.Pid)
		}
		return sum
	}
	before, start := used(), time.Now()
	n := answered(15 * time.Second)
	return n * float64(read) / time.Since(start).Seconds(), n * float64(read) / (used() - before).Seconds()
}
