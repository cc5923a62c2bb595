package parallel

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestTurnYieldsAtItsEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var other atomic.Bool
	go func() { other.Store(true) }()
	over, before := Turn{}, time.Now()
	// Go sometimes resumes the goroutine that yields before others.
	for range 10 {
		over.began = time.Now().Add(-turn)
		if err := over.Yield(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !other.Load() {
		t.Error("another goroutine did not run at the end of ten turns")
	}
	if over.began.Before(before) {
		t.Error("no new turn began")
	}
}

func TestYieldReturnsErrorOfContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(Turn).Yield(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Yield returned %v", err)
	}
}
