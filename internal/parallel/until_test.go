package parallel

import (
	"context"
	"errors"
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

func TestOrLeave(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	began, end, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() { <-began; stop() }()
	if err := OrLeave(ctx, func() error {
		began <- true
		<-end
		close(ended)
		return nil
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("left with %v", err)
	}
	close(end)
	<-ended
	own := errors.New("its own")
	if err := OrLeave(t.Context(), func() error { return own }); err != own {
		t.Errorf("ends with %v", err)
	}
	if err := OrLeave(ctx, func() error { t.Error("begun"); return nil }); err == nil {
		t.Error("not interrupted")
	}
}
