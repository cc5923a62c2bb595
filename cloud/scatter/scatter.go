// Package scatter decides which nodes to ask for the shards of an index, when
// to ask a second node, and when to stop. The outcome is a complete reply or an
// error.
//
//	Query.Step(now) ─▶ messages to send now, and when to call again
//	Query.Answered, Failed, Refused ◀─ outcomes of the messages
//
// A Query has no clock, connection or goroutine, so the same code runs in a
// simulation of hundreds of nodes (package eval/simulate).
//
//	shard ─▶ its first node ─ answer ─▶ done
//	            │ after Hedge: also the second node (Dean and Barroso, "The tail at scale", CACM 2013)
//	            │ refused, absent, or silent for Patience: the next node
//	            └ no node left: all nodes again, after a pause that doubles
package scatter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/internal/hint"
)

// Options sets the time limits of a Query. All fields are required.
type Options struct {
	// Hedge is the delay before a second node is asked.
	Hedge time.Duration
	// Patience is the time after which a silent node counts as gone.
	Patience time.Duration
	// Pause is the first wait after all nodes of a shard have failed.
	Pause    time.Duration
	Deadline time.Time
	// Slow is called with each node that has not answered within Hedge.
	Slow func(node string)
}

// ErrIncomplete means that a shard did not answer in time. It wraps
// cpar.ErrCloud.
var ErrIncomplete = hint.Add(fmt.Errorf("%w: not all shards of the index answered in time", cpar.ErrCloud), "try again in a moment")

type Send struct {
	Shard int
	Node  string
}

// A Query collects answers from all shards of an index. It belongs to one
// goroutine.
type Query struct {
	o Options
	// places returns the nodes that should hold a shard, then nodes that may
	// have held the shard earlier.
	places func(shard int) []string
	shards []shardProgress
	left   int
	err    error
	// Hedges and Retries count messages beyond one per shard.
	Hedges, Retries int
}

type shardProgress struct {
	done  bool
	asked []attempt // nodes asked in this round
	round int
	pause time.Time // start of this round
}

type attempt struct {
	node   string
	at     time.Time
	failed bool
	why    error
}

func New(n int, places func(shard int) []string, o Options) *Query {
	return &Query{o: o, places: places, shards: make([]shardProgress, n), left: n}
}

// Done reports whether all shards have answered or the query has failed.
func (q *Query) Done() (bool, error) { return q.left == 0 || q.err != nil, q.err }

// Answered records an answer from a shard and reports whether it is the shard's
// first answer.
func (q *Query) Answered(number int) bool {
	s := &q.shards[number]
	if s.done {
		return false
	}
	s.done = true
	q.left--
	return true
}

// Failed records that a node is absent or has not loaded the shard.
func (q *Query) Failed(number int, node string) { q.Refused(number, node, nil) }

// Refused records that a node cannot answer. The query ends at once if the
// request is invalid. Otherwise it ends when all nodes of a shard have refused.
func (q *Query) Refused(number int, node string, why error) {
	for i, a := range q.shards[number].asked {
		if a.node == node {
			q.shards[number].asked[i].failed, q.shards[number].asked[i].why = true, why
		}
	}
	if errors.Is(why, cpar.ErrInput) && q.err == nil {
		q.err = why
	}
}

// Step returns the messages to send now, and the latest time for the next call.
func (q *Query) Step(now time.Time) (sends []Send, again time.Time) {
	again = q.o.Deadline
	if done, _ := q.Done(); done {
		return nil, again
	}
	if !now.Before(q.o.Deadline) {
		q.err = fmt.Errorf("%d of %d shards: %w", q.left, len(q.shards), ErrIncomplete)
		return nil, again
	}
	for i := range q.shards {
		if q.shards[i].done {
			continue
		}
		send, next := q.step(i, now)
		if send != "" {
			sends = append(sends, Send{i, send})
		}
		if next.Before(again) {
			again = next
		}
	}
	return sends, again
}

func (q *Query) step(number int, now time.Time) (node string, again time.Time) {
	s := &q.shards[number]
	if now.Before(s.pause) {
		return "", s.pause
	}
	waiting, first := 0, time.Time{}
	for i, a := range s.asked {
		if !a.failed && now.Sub(a.at) >= min(q.o.Hedge, q.o.Patience) {
			q.o.Slow(a.node)
		}
		if !a.failed && now.Sub(a.at) >= q.o.Patience {
			s.asked[i].failed = true
		} else if !a.failed {
			if waiting++; waiting == 1 {
				first = a.at
			}
		}
	}
	hedge := waiting == 1 && now.Sub(first) >= q.o.Hedge
	if waiting == 0 || hedge {
		node = s.next(q.places(number))
	}
	switch {
	case node != "":
		if hedge {
			q.Hedges++
		} else if len(s.asked)+s.round > 0 {
			q.Retries++
		}
		s.asked = append(s.asked, attempt{node: node, at: now})
		return node, now.Add(min(q.o.Hedge, q.o.Patience))
	case waiting == 0 && s.refused() != nil:
		q.err = s.refused()
		return "", now
	case waiting == 0: // all nodes have failed, so start the next round
		s.pause, s.asked = now.Add(q.o.Pause<<min(s.round, 5)), nil
		s.round++
		return "", s.pause
	case waiting == 1 && !hedge:
		return "", first.Add(min(q.o.Hedge, q.o.Patience))
	}
	return "", first.Add(q.o.Patience)
}

func (s *shardProgress) next(places []string) string {
	for _, node := range places {
		if !slices.ContainsFunc(s.asked, func(a attempt) bool { return a.node == node }) {
			return node
		}
	}
	return ""
}

func (s *shardProgress) refused() (err error) {
	for _, a := range s.asked {
		if err = a.why; err == nil {
			return nil
		}
	}
	return err
}
