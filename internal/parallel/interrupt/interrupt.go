// Package interrupt tests cancellation without a clock, with a context that
// ends after a given number of checks.
package interrupt

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
)

type counting struct {
	context.Context
	left atomic.Int64
}

func (c *counting) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Everywhere counts how often `work` checks its context, then interrupts it at
// some checks, including the first and the last. The test fails if `work`
// checks fewer than `least` times or does not return context.Canceled.
func Everywhere(t *testing.T, least int64, work func(context.Context) error) {
	t.Helper()
	whole := &counting{Context: t.Context()}
	whole.left.Store(math.MaxInt64)
	if err := work(whole); err != nil {
		t.Fatalf("not interrupted: %v", err)
	}
	asks := math.MaxInt64 - whole.left.Load()
	if asks < least {
		t.Errorf("checks its context %d times, want at least %d", asks, least)
	}
	const places = 7
	for i := range int64(places) {
		c := &counting{Context: t.Context()}
		c.left.Store(i * (asks - 1) / (places - 1))
		if err := work(c); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %d of %d places: %v", i*(asks-1)/(places-1), asks, err)
		}
		// Workers that run when the context ends may each check it a few more
		// times.
		if more := -c.left.Load(); more > 64 {
			t.Errorf("after the interruption it checks %d more times", more)
		}
	}
}
