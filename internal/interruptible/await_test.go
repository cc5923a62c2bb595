package interruptible

import (
	"context"
	"errors"
	"testing"
)

func TestAnswer(t *testing.T) {
	refused := errors.New("refused")
	got, err := Answer(t.Context(), func() (string, error) { return "yes", refused })
	if got != "yes" || err != refused {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnswerIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	got, err := Answer(ctx, func() (string, error) {
		cancel()
		<-never
		return "late", nil
	})
	if got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
}
