package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"cpar/internal/indexdir"
)

const (
	// gcPercent makes the garbage collector run more often than usual in
	// commands that need much memory. It then takes little time, because that
	// memory holds few pointers. A heap of up to smallHeap bytes is not worth
	// collecting.
	gcPercent, smallHeap = 30, 192 << 20
	// enoughMemory and leastMemory bound the memory above which these commands
	// collect all garbage at once.
	enoughMemory, leastMemory = 512 << 20, 128 << 20
)

// limitMemory makes a command collect all garbage beyond a limit, at most three
// quarters of the available memory, until `end` is called. A limit of the user
// (GOMEMLIMIT) takes precedence.
func limitMemory() (end func()) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		most := uint64(enoughMemory)
		if free, known := indexdir.AvailableMemory(); known {
			most = min(most, max(free/4*3, leastMemory))
		}
		debug.SetMemoryLimit(int64(most))
	}
	return func() { debug.SetMemoryLimit(limit) }
}

// spareMemory makes the garbage collector run when the heap has grown by
// gcPercent and exceeds smallHeap, until `end` is called.
func spareMemory() (end func()) {
	before, ended := debug.SetGCPercent(gcPercent), new(atomic.Bool)
	tuneCollector(ended)
	return func() {
		ended.Store(true)
		debug.SetGCPercent(before)
	}
}

// tuneCollector sets the percentage for the next collection, after which it
// runs again.
func tuneCollector(ended *atomic.Bool) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if !ended.Load() {
		debug.SetGCPercent(max(gcPercent, int(100*smallHeap/max(1, live[0].Value.Uint64()))-100))
		runtime.AddCleanup(new([64]byte), tuneCollector, ended)
	}
}
