// Package interrupt is for tests of what ^C ends: a context that ends by itself after
// it was asked so many times, so that no test needs a clock.
package interrupt

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
)

// counting ends when it has been asked more often than it has left.
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

// Everywhere runs work to its end, counts how often it asks whether to go on, and then
// interrupts it at some of these places, the first and the last among them. It fails if
// work asks less often than least, or goes on to a result.
func Everywhere(t *testing.T, least int64, work func(context.Context) error) {
	t.Helper()
	whole := &counting{Context: t.Context()}
	whole.left.Store(math.MaxInt64)
	if err := work(whole); err != nil {
		t.Fatalf("not interrupted: %v", err)
	}
	asks := math.MaxInt64 - whole.left.Load()
	if asks < least {
		t.Errorf("asks %d times whether to go on, want %d at least", asks, least)
	}
	const places = 7
	for i := range int64(places) {
		c := &counting{Context: t.Context()}
		c.left.Store(i * (asks - 1) / (places - 1))
		if err := work(c); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %d of %d places: %v", i*(asks-1)/(places-1), asks, err)
		}
		// Those that were at work when it ended may each ask once more, or a little more.
		if more := -c.left.Load(); more > 64 {
			t.Errorf("interrupted, it asks %d times more", more)
		}
	}
}
