package main

import (
	"math"
	"runtime/debug"

	"cpar/internal/indexdir"
)

const (
	// gcPercent makes the garbage collector run more often than usual in
	// commands that need much memory. It then takes little time, because that
	// memory holds few pointers.
	gcPercent = 30
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
