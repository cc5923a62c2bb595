package cparhttp

import (
	"context"
	"sync"
	"time"
)

// silentAfter is the length of a server's silence after which the client calls
// Client.Silent.
const silentAfter = 3 * time.Second

// A silence measures the time since the server last made progress in one
// attempt, by sending a response or accepting bytes, and reports it with tell.
type silence struct {
	tell func(time.Duration)

	mu    sync.Mutex
	last  time.Time // the time of the last progress
	told  bool      // whether tell was called since last
	ended bool
}

// listen calls Client.Silent every second while the server has been silent for
// longer than silentAfter. It does so until the caller calls stop.
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

// end prevents further calls of tell. If clear is set, it first reports the end
// of a silence. After an interrupt, clear is false, so that the last report
// remains visible.
func (s *silence) end(clear bool) {
	if clear {
		s.heard()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
