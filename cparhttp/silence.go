package cparhttp

import (
	"context"
	"sync"
	"time"
)

// silentAfter is the time without progress after which Client.Silent is called.
const silentAfter = 3 * time.Second

// A silence measures the time since the server's last progress in one attempt,
// and reports the time with `tell`.
type silence struct {
	tell func(time.Duration)

	mu    sync.Mutex
	last  time.Time // last progress
	told  bool      // whether `tell` was called after the last progress
	ended bool
}

// listen calls Client.Silent every second while the server has been silent for
// longer than silentAfter, until `stop` is called.
func (c *Client) listen(ctx context.Context) (s *silence, stop func()) {
	s = &silence{tell: c.Silent, last: time.Now()}
	if s.tell == nil {
		return s, func() {}
	}
	ticks := time.NewTicker(time.Second)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case now := <-ticks.C:
				s.tick(now)
			case <-done:
				return
			}
		}
	}()
	return s, func() {
		ticks.Stop()
		close(done)
		s.end(ctx.Err() == nil)
	}
}

func (s *silence) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := now.Sub(s.last); d >= silentAfter && !s.ended {
		s.told = true
		s.tell(d)
	}
}

// heard records progress, which ends the silence.
func (s *silence) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if s.told {
		s.told = false
		s.tell(0)
	}
}

// end prevents further calls of `tell`. If `clear` is set, it first reports the
// end of the silence. After an interrupt, callers do not set `clear`, so that
// the last report stays visible.
func (s *silence) end(clear bool) {
	if clear {
		s.heard()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
