package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// A limit of the user takes precedence, and each command restores the limit.
func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	for _, before := range []int64{math.MaxInt64, 1 << 30} {
		debug.SetMemoryLimit(before)
		end := limitMemory()
		now := debug.SetMemoryLimit(-1)
		if before == 1<<30 && now != before || before == math.MaxInt64 && (now < minLimit || now > maxLimit) {
			t.Errorf("a limit of %d after %d", now, before)
		}
		end()
		if after := debug.SetMemoryLimit(-1); after != before {
			t.Errorf("%d is left, not %d", after, before)
		}
	}
}

// A small heap may grow to smallHeap, also after a collection, until the command
// ends.
func TestSpareMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	limit := debug.SetMemoryLimit(-1)
	end := spareMemory()
	for range 2 {
		now := debug.SetGCPercent(77)
		for i := 0; now == 77 && i < 100; i++ { // not tuned since the last collection
			runtime.GC()
			now = debug.SetGCPercent(77)
		}
		if now <= 100 || debug.SetMemoryLimit(-1) >= 2*smallHeap {
			t.Errorf("the collector runs after %d %%", now)
		}
	}
	end()
	runtime.GC()
	if after := debug.SetGCPercent(77); after != 77 || debug.SetMemoryLimit(-1) != limit {
		t.Errorf("%d %% are left", after)
	}
}
