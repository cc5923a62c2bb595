package parallel

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// turn is the time after which a Turn yields. Go itself preempts a goroutine
// after ten milliseconds.
const turn = time.Millisecond

// A Turn is the time for which a long computation has occupied a core. It begins
// at the first call of Yield.
type Turn struct{ began time.Time }

// Yield lets other goroutines run at the end of a turn, unless a core is idle,
// and returns the context's error.
func (t *Turn) Yield(ctx context.Context) error {
	switch now := time.Now(); {
	case t.began.IsZero():
		t.began = now
	case now.Sub(t.began) >= turn:
		if busy() {
			runtime.Gosched()
		}
		t.began = time.Now()
	}
	return ctx.Err()
}

// busy reports whether all cores run goroutines. Otherwise, nothing waits for a
// core, and a yield would move the goroutine to the idle core, whose caches lack
// its data.
func busy() bool {
	running := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}}
	metrics.Read(running)
	return running[0].Value.Uint64() >= uint64(runtime.GOMAXPROCS(0))
}
