package admission

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// aside is memory beside bodies, replies and loaded indexes: stacks, buffers of connections,
// and what waits to be collected.
const aside = 40 << 20

// Ceiling has garbage collected before it takes the process beyond the memory that it may
// hold, until end is called. Go would otherwise let the heap grow to twice what is in use,
// and a body that was broken off is as large as one that is used.
func (g *Gate) Ceiling(ctx context.Context) (end func()) {
	was := debug.SetMemoryLimit(g.limits.Memory + aside)
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		// What loaded indexes have on the heap comes on top: a ceiling below what is in use
		// would have the collector run all the time.
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var o others
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				debug.SetMemoryLimit(g.limits.Memory + aside + o.sample(g.held()))
			}
		}
	}()
	return func() {
		cancel()
		<-stopped
		debug.SetMemoryLimit(was)
	}
}

// held is what has been given out.
func (g *Gate) held() int64 { return g.bodies.stats().Used + g.replies.stats().Used }

// others estimates what is on the heap and was not given out by a gate. A sample is too large
// if bodies were given back since the last collection, so the least of some counts.
type others struct {
	last   [8]int64 // of as many collections
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
