// Package kernelbench times the kernels that the processor supports.
//
//	Run ─▶ one Row for each call of Calls and each set of kernels: nanoseconds of the call
package kernelbench

import (
	"context"
	"math"
	"time"

	"cpar/internal/f32"
	"cpar/internal/fourier"
	"cpar/internal/mod48"
	"cpar/internal/modq"
)

// A Row is the time of one call with one set of kernels.
type Row struct {
	Package string  `json:"package"`
	Call    string  `json:"call"`
	Kernels string  `json:"kernels"`
	Ns      float64 `json:"ns"`
}

// A Call is a function of a package of kernels on arguments of typical sizes.
type Call struct {
	Package, Name string
	// prepare returns the call. It runs for each set of kernels, because the
	// operands depend on it.
	prepare func() func()
}

var levels = map[string]func(func(kernels string)){
	"f32": f32.AtEachLevel, "fourier": fourier.AtEachLevel, "mod48": mod48.AtEachLevel, "modq": modq.AtEachLevel,
}

// AtEachLevel activates each set of kernels, and calls f with its name and the
// prepared call. Nothing else may use the kernels meanwhile.
func (c Call) AtEachLevel(f func(kernels string, call func())) {
	levels[c.Package](func(kernels string) { f(kernels, c.prepare()) })
}

// Run times every call for about `each` with each set of kernels, and passes
// the rows to `report`.
func Run(ctx context.Context, each time.Duration, report func(Row)) error {
	for _, c := range Calls {
		c.AtEachLevel(func(kernels string, call func()) {
			if ctx.Err() == nil {
				report(Row{c.Package, c.Name, kernels, fastest(call, each)})
			}
		})
	}
	return ctx.Err()
}

// fastest returns the lowest time of a call in nanoseconds, because other load
// on the machine only adds to it. It times short calls in groups, because the
// clock is coarse.
func fastest(call func(), each time.Duration) float64 {
	least, group := math.Inf(1), 1
	for begun := time.Now(); time.Since(begun) < each || math.IsInf(least, 1); {
		start := time.Now()
		for range group {
			call()
		}
		took := time.Since(start)
		if took < 100*time.Microsecond && took < each {
			group *= 2
			continue
		}
		least = min(least, float64(took.Nanoseconds())/float64(group))
	}
	return least
}
