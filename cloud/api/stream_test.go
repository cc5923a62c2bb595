package api

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A sender sends a piece after each pause until the deadline.
type sender struct {
	pause    time.Duration
	first    int
	piece    int
	left     int
	deadline time.Time
}

func (s *sender) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(min(s.pause, time.Until(s.deadline)))
	if !time.Now().Before(s.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(p), max(s.first, s.piece), s.left)
	s.first = 0
	s.left -= n
	return n, nil
}

func TestSteadyBodiesAreRead(t *testing.T) {
	const stall, least = 20 * time.Second, 16 << 10
	for name, c := range map[string]struct {
		sender
		cut time.Duration
	}{
		"at the least speed":  {sender{pause: time.Second, piece: least, left: 600 * least}, 0},
		"fast, with pauses":   {sender{pause: 19 * time.Second, piece: 32 * least, left: 6000 * least}, 0},
		"at half of it":       {sender{pause: time.Second, piece: least / 2, left: 600 * least}, 2 * stall},
		"silent":              {sender{pause: time.Hour, piece: 1, left: 1}, stall},
		"fast, then hardly":   {sender{pause: stall - time.Second, first: 50 * least, piece: 1, left: 60 * least}, 2*stall - time.Second},
		"a byte now and then": {sender{pause: stall - time.Second, piece: 1, left: 600}, stall},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := &c.sender
				b := &body{reader: from, control: func(d time.Time) error { from.deadline = d; return nil }}
				began, whole := time.Now(), from.left
				n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{b.stream(stall, least)}, make([]byte, 1<<20))
				took := time.Since(began)
				if c.cut == 0 && (err != nil || n != int64(whole)) {
					t.Errorf("%d of %d bytes, %v after %v", n, whole, err, took)
				}
				if c.cut > 0 && (!errors.Is(err, errBodyCut) || took < c.cut-time.Second || took > c.cut+time.Second) {
					t.Errorf("%v after %v, want it cut after %v", err, took, c.cut)
				}
			})
		})
	}
}
