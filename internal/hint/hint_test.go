package hint

import (
	"errors"
	"fmt"
	"testing"
)

func TestInnermostHintWins(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("outer: %w", Add(fmt.Errorf("inner: %w", Add(cause, "do %d", 1)), "do 2"))
	if got := Of(err); got != "do 1" {
		t.Errorf("hint %q, want the one nearest to the cause", got)
	}
	if got := err.Error(); got != "outer: inner: cause" {
		t.Errorf("the hint shows in the text: %q", got)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if Of(cause) != "" || Of(nil) != "" || Add(nil, "x") != nil {
		t.Error("a hint from nil")
	}
}
