package admission

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// aside is the memory for everything except bodies, replies and loaded indexes:
// stacks, connection buffers and garbage not yet collected.
const aside = 40 << 20

const (
	// crowdedPercent limits garbage while many clients without a token connect.
	// Then, and for quietAfter seconds longer, memory is returned to the system
	// every releaseEvery seconds.
	crowdedPercent = 25
	releaseEvery   = 5
	quietAfter     = 15
)

// Ceiling keeps the process within its memory budget by collecting garbage
// early, until end is called, and returns memory to the system after a peak. By
// default Go lets the heap grow to twice its live size, and an idle process
// keeps the memory of a peak for minutes.
func (g *Gate) Ceiling(ctx context.Context) (end func()) {
	was, percent := debug.SetMemoryLimit(g.limits.Memory+aside), debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		// A ceiling below the live heap would keep the collector running.
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var o others
		for now, until := 1, 0; ; now++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			debug.SetMemoryLimit(g.limits.Memory + aside + o.sample(g.bodies.stats().Used+g.replies.stats().Used))
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

// others estimates the live heap that no gate granted. Bodies released since
// the last collection inflate a sample, so sample returns the minimum of
// several.
type others struct {
	last   [8]int64 // one per collection
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
