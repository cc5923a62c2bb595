package kernelbench

import (
	"context"
	"errors"
	"testing"
)

func TestRunTimesEachCallAtEachLevel(t *testing.T) {
	rows := map[string]int{}
	if err := Run(t.Context(), 0, func(r Row) {
		if rows[r.Package+r.Call]++; r.Ns <= 0 {
			t.Errorf("%+v takes no time", r)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range Calls {
		levels := 0
		c.AtEachLevel(func(string, func()) { levels++ })
		if got := rows[c.Package+c.Name]; got != levels || levels == 0 {
			t.Errorf("%s, %s: %d rows, want %d", c.Package, c.Name, got, levels)
		}
	}
}

func TestRunStopsWhenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := Run(ctx, 0, func(Row) { n++; cancel() })
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows and error %v after a cancellation", n, err)
	}
}
