// Package ask decides which nodes are asked for the shards of an index, when another is asked
// as well, and when it is over. An answer is whole, or there is none.
//
//	Question.Step(now) ─▶ what to send now, and when to call again
//	Question.Answered, Failed ◀─ what came of it
//
// It holds no clock, no connection and no goroutine: whoever drives it has them. So the same
// code runs against a network and in a simulation of hundreds of nodes (package eval/simulate).
//
//	shard ─▶ its first node ─ answer ─▶ done
//	            │ after Hedge: its second as well (Dean and Barroso, "The tail at scale", CACM 2013)
//	            │ refused, nobody there, or silent for Patience: the next that was not asked
//	            └ all were asked: all again, after a pause that doubles
package scatter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/internal/hint"
)

// Options say how long what may take. All are required.
type Options struct {
	// Hedge is how long the first node has before a second is asked as well.
	Hedge time.Duration
	// Patience is how long a node that was asked has before it counts as gone.
	Patience time.Duration
	// Pause is the first wait after all nodes of a shard have failed.
	Pause time.Duration
	// Deadline is when it is over.
	Deadline time.Time
	// Slow is told of nodes that did not answer when others are asked as well (Busy.Slow).
	Slow func(node string)
}

// ErrIncomplete says that a shard did not answer in time. It comes wrapped with cpar.ErrCloud.
var ErrIncomplete = hint.Add(fmt.Errorf("%w: not all parts of the index answered in time", cpar.ErrCloud), "try again in a moment")

// A Send is to be sent: shard number Shard to a node.
type Send struct {
	Shard int
	Node  string
}

// A Question is asked of all shards of an index. It belongs to one goroutine.
type Query struct {
	o Options
	// places are the nodes of a shard now, the best first: those that hold it, then those
	// that may have held it before others came or went.
	places func(shard int) []string
	shards []shardProgress
	left   int
	err    error
	// Hedges and Retries count what was sent besides one message a shard.
	Hedges, Retries int
}

// A shard is what became of one so far.
type shardProgress struct {
	done  bool
	asked []attempt // of this round
	round int
	pause time.Time // no sooner is anybody asked again
}

type attempt struct {
	node   string
	at     time.Time
	failed bool
	why    error // what the node said; nil if it said nothing
}

// New makes a question of n shards.
func New(n int, places func(shard int) []string, o Options) *Query {
	return &Query{o: o, places: places, shards: make([]shardProgress, n), left: n}
}

// Done reports whether it is over: all shards have answered, or there is an error, which wraps
// ErrIncomplete or is what nodes said.
func (q *Query) Done() (bool, error) { return q.left == 0 || q.err != nil, q.err }

// Answered says that a shard is answered, and reports whether it is the first answer.
func (q *Query) Answered(number int) bool {
	s := &q.shards[number]
	if s.done {
		return false
	}
	s.done = true
	q.left--
	return true
}

// Failed says that a node will not answer: it is not there, or not ready.
func (q *Query) Failed(number int, node string) { q.Refused(number, node, nil) }

// Refused says that a node cannot answer, and why. A question that is wrong is over; else it is
// if all nodes of a shard refuse, whereas for one that is not there somebody may yet come.
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

// Step returns what is to be sent now, and when to call again if nothing happens before.
func (q *Query) Step(now time.Time) (sends []Send, again time.Time) {
	again = q.o.Deadline
	if done, _ := q.Done(); done {
		return nil, again
	}
	if !now.Before(q.o.Deadline) {
		q.err = fmt.Errorf("%d of %d parts: %w", q.left, len(q.shards), ErrIncomplete)
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

// step looks at one shard: whom to ask now, if anybody, and when to look again.
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
	case waiting == 0: // all have failed: begin again
		s.pause, s.asked = now.Add(q.o.Pause<<min(s.round, 5)), nil
		s.round++
		return "", s.pause
	case waiting == 1 && !hedge:
		return "", first.Add(min(q.o.Hedge, q.o.Patience))
	}
	return "", first.Add(q.o.Patience)
}

// next is the best node that was not asked in this round, "" if there is none.
func (s *shardProgress) next(places []string) string {
	for _, node := range places {
		if !slices.ContainsFunc(s.asked, func(a attempt) bool { return a.node == node }) {
			return node
		}
	}
	return ""
}

// refused is what the last node said, if all that were asked have said why they cannot answer.
func (s *shardProgress) refused() (err error) {
	for _, a := range s.asked {
		if err = a.why; err == nil {
			return nil
		}
	}
	return err
}
