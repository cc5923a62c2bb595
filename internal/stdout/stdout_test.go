package stdout

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"cpar"
)

// disk accepts room bytes. If late, it reports the loss only when closed.
type disk struct {
	room   int
	late   error
	closed bool
}

var errFull = errors.New("full")

func (d *disk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func (d *disk) Close() error { d.closed = true; return d.late }

func TestEndReportsLostOutput(t *testing.T) {
	other := errors.New("another failure")
	for name, c := range map[string]struct {
		disk disk
		err  error
		want error
	}{
		"all there":        {disk{room: 10}, nil, nil},
		"lost":             {disk{room: 4}, nil, cpar.ErrStorage},
		"lost and said so": {disk{room: 4}, fmt.Errorf("printing: %w", errFull), cpar.ErrStorage},
		"lost at the end":  {disk{room: 10, late: errFull}, nil, cpar.ErrStorage},
		"another failure":  {disk{room: 4}, other, other},
		"only a failure":   {disk{room: 10}, other, other},
	} {
		o := New(&c.disk)
		io.WriteString(o, "12345")
		io.WriteString(o, "") // succeeds, and must not clear the loss
		if err := o.End(c.err); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: ends with %v, want %v", name, err, c.want)
		}
		if !c.disk.closed {
			t.Errorf("%s: left open", name)
		}
	}
}
