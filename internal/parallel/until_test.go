package parallel

import (
	"context"
	"sync/atomic"
	"testing"

	"cpar/internal/parallel/interrupt"
)

func TestUntil(t *testing.T) {
	interrupt.Everywhere(t, 100, func(ctx context.Context) error {
		var done atomic.Int64
		err := Until(ctx, 100, func() func(int) { return func(int) { done.Add(1) } })
		if n := done.Load(); err == nil && n != 100 || n > 100 {
			t.Errorf("%d of 100 tasks, %v", n, err)
		}
		return err
	})
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := Until(ended, 5, func() func(int) { return func(int) { t.Error("a task was begun") } }); err == nil {
		t.Error("not interrupted")
	}
}
