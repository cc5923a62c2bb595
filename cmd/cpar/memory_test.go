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
		if before == 1<<30 && now != before || before == math.MaxInt64 && (now < leastMemory || now > enoughMemory) {
			t.Errorf("a limit of %d after %d", now, before)
		}
		end()
		if after := debug.SetMemoryLimit(-1); after != before {
			t.Errorf("%d is left, not %d", after, before)
		}
	}
}

// A small heap may grow to smallHeap, until the command ends.
func TestSpareMemory(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	end := spareMemory()
	if now := debug.SetGCPercent(100); now < gcPercent {
		t.Errorf("the collector runs after %d %%", now)
	}
	end()
	runtime.GC()
	if after := debug.SetGCPercent(100); after != 100 {
		t.Errorf("%d %% are left", after)
	}
}
