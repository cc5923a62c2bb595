package admission

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// overhead is the number of bytes allowed for stacks, connection buffers and
// garbage, in addition to bodies, replies and loaded indexes.
const overhead = 40 << 20

const (
	// crowdedPercent is the garbage collector's percentage (GOGC) while many
	// clients without a token are connected, and for quietAfter seconds
	// afterwards. During this time, memory is returned to the system every
	// releaseEvery seconds.
	crowdedPercent = 25
	releaseEvery   = 5
	quietAfter     = 15
)

// Ceiling keeps the process within its memory budget until `end` is called. It
// collects garbage early and returns memory to the system after a peak. Without
// it, Go lets the heap grow to twice its live size, and an idle process keeps
// the memory of a peak for minutes.
func (g *Gate) Ceiling(ctx context.Context) (end func()) {
	was, percent := debug.SetMemoryLimit(g.limits.Memory+overhead), debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		// Adjust the limit every second, because a limit below the live heap
		// would keep the collector running.
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var o others
		for now, until := 1, 0; ; now++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			debug.SetMemoryLimit(g.limits.Memory + overhead + o.sample(g.bodies.stats().Used+g.replies.stats().Used))
			switch {
			case g.Door.crowded():
				debug.SetGCPercent(crowdedPercent)
				until = now + quietAfter
			case now == until:
				debug.SetGCPercent(percent)
			}
			if now <= until && now%releaseEvery == 0 {
				debug.FreeOSMemory()
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		debug.SetMemoryLimit(was)
		debug.SetGCPercent(percent)
	}
}

// others estimates the part of the live heap that the Gate did not grant, such
// as loaded indexes. Bodies released since the last garbage collection inflate
// an estimate, so `sample` returns the minimum of the last eight estimates.
type others struct {
	last   [8]int64 // estimates, one per collection
	cycles uint64
}

func (o *others) sample(held int64) int64 {
	read := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(read)
	if n := read[0].Value.Uint64(); n != o.cycles {
		o.last[n%uint64(len(o.last))] = max(0, int64(read[1].Value.Uint64())-held)
		o.cycles = n
	}
	least := o.last[0]
	for _, n := range o.last[1:] {
		least = min(least, n)
	}
	return least
}
