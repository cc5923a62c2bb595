package main

import (
	"math"
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
