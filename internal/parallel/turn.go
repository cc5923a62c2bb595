package parallel

import (
	"context"
	"runtime"
	"time"
)

// turn is the time after which a Turn yields. If a core is idle, a yield moves
// the goroutine there, and the caches of that core lack its data. Go itself
// preempts a goroutine after ten milliseconds.
const turn = 2 * time.Millisecond

// A Turn is the time for which a long computation has occupied a core. It begins
// at the first call of Yield.
type Turn struct{ began time.Time }

// Yield lets other goroutines run at the end of a turn, and returns the
// context's error.
func (t *Turn) Yield(ctx context.Context) error {
	switch now := time.Now(); {
	case t.began.IsZero():
		t.began = now
	case now.Sub(t.began) >= turn:
		runtime.Gosched()
		t.began = time.Now()
	}
	return ctx.Err()
}
