package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"cpar/internal/indexdir"
)

const (
	// gcPercent makes the garbage collector run more often than usual in
	// commands that need much memory. It then takes little time, because that
	// memory holds few pointers. A heap of up to smallHeap bytes is not worth
	// collecting.
	gcPercent, smallHeap = 30, 192 << 20
	// maxLimit and minLimit bound the memory above which these commands
	// collect all garbage at once.
	maxLimit, minLimit = 512 << 20, 128 << 20
)

// limitMemory makes a command collect all garbage beyond a limit, at most three
// quarters of the available memory, until `end` is called. A limit of the user
// (GOMEMLIMIT) takes precedence.
func limitMemory() (end func()) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		most := uint64(maxLimit)
		if free, known := indexdir.AvailableMemory(); known {
			most = min(most, max(free/4*3, minLimit))
		}
		debug.SetMemoryLimit(int64(most))
	}
	return func() { debug.SetMemoryLimit(limit) }
}

// spareMemory makes the garbage collector run when the heap has grown by
// gcPercent and exceeds smallHeap, until `end` is called.
func spareMemory() (end func()) {
	c := &collector{percent: debug.SetGCPercent(gcPercent), limit: debug.SetMemoryLimit(-1)}
	c.tune()
	return c.end
}

// A collector holds the settings of the garbage collector that end restores.
type collector struct {
	sync.Mutex
	percent int
	limit   int64
	ended   bool
}

// tune sets the percentage for the next collection, after which it runs again.
// Until then, the percentage also applies to a heap that has grown, so a limit
// bounds the memory.
func (c *collector) tune() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	c.Lock()
	defer c.Unlock()
	if c.ended {
		return
	}
	percent, limit := gcPercent, c.limit
	if small := int(100*smallHeap/max(1<<20, live[0].Value.Uint64())) - 100; small > gcPercent {
		percent, limit = small, min(limit, smallHeap/3*4)
	}
	debug.SetMemoryLimit(limit)
	debug.SetGCPercent(percent)
	runtime.AddCleanup(new([64]byte), (*collector).tune, c)
}

func (c *collector) end() {
	c.Lock()
	defer c.Unlock()
	c.ended = true
	debug.SetMemoryLimit(c.limit)
	debug.SetGCPercent(c.percent)
}
