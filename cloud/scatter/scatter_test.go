package scatter

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"cpar"
)

var begin = time.Unix(0, 0)

func ms(n int) time.Time { return begin.Add(time.Duration(n) * time.Millisecond) }

var options = Options{Hedge: 30 * time.Millisecond, Patience: 200 * time.Millisecond, Pause: 50 * time.Millisecond, Deadline: ms(2000), Slow: func(string) {}}

func three(int) []string { return []string{"a", "b", "c"} }

func told(t *testing.T, q *Query, steps ...any) {
	t.Helper()
	for i := 0; i < len(steps); i += 3 {
		at, happens, want := steps[i].(int), steps[i+1].(string), steps[i+2].(string)
		switch {
		case happens == "answer":
			q.Answered(0)
		case happens != "":
			q.Failed(0, happens)
		}
		sends, again := q.Step(ms(at))
		got := ""
		for _, s := range sends {
			got += s.Node
		}
		if got != want {
			t.Fatalf("after %d ms and %q: asks %q, want %q", at, happens, got, want)
		}
		if done, _ := q.Done(); !done && !again.After(ms(at)) {
			t.Fatalf("after %d ms: to be called again after %v", at, again.Sub(begin))
		}
	}
}

func TestOneShard(t *testing.T) {
	for name, steps := range map[string][]any{
		"an answer":           {0, "", "a", 10, "", "", 20, "answer", ""},
		"a slow node":         {0, "", "a", 29, "", "", 30, "", "b", 60, "", "", 70, "answer", ""},
		"nobody there":        {0, "", "a", 0, "a", "b", 1, "b", "c", 2, "answer", ""},
		"two nodes gone":      {0, "", "a", 30, "", "b", 199, "", "", 200, "", "c", 240, "answer", ""},
		"the other refuses":   {0, "", "a", 30, "", "b", 31, "b", "c", 40, "answer", ""},
		"all, and once more":  {0, "", "a", 1, "a", "b", 2, "b", "c", 3, "c", "", 52, "", "", 53, "", "a", 54, "answer", ""},
		"pauses become twice": {0, "", "a", 0, "a", "b", 0, "b", "c", 0, "c", "", 50, "", "a", 50, "a", "b", 50, "b", "c", 50, "c", "", 149, "", "", 150, "", "a"},
	} {
		t.Run(name, func(t *testing.T) { told(t, New(1, three, options), steps...) })
	}
}

func TestNewNodesAreAsked(t *testing.T) {
	live := []string{}
	q := New(1, func(int) []string { return live }, options)
	told(t, q, 0, "", "")
	live = []string{"z"}
	told(t, q, 49, "", "", 50, "", "z", 60, "answer", "")
	if done, err := q.Done(); !done || err != nil {
		t.Error(done, err)
	}
}

func TestWholeOrNothing(t *testing.T) {
	q := New(3, three, options)
	now := ms(0)
	for {
		sends, again := q.Step(now)
		for _, s := range sends {
			if s.Shard == 1 {
				q.Failed(s.Shard, s.Node)
			} else if q.Answered(s.Shard); q.Answered(s.Shard) {
				t.Fatal("answered twice")
			}
		}
		if done, err := q.Done(); done {
			if !errors.Is(err, ErrIncomplete) || !errors.Is(err, cpar.ErrCloud) || now.Before(options.Deadline) {
				t.Errorf("over after %v: %v", now.Sub(begin), err)
			}
			break
		}
		if len(sends) == 0 {
			now = again
		}
	}
	if q.Hedges != 0 || q.Retries < 5 {
		t.Errorf("%d hedges, %d retries", q.Hedges, q.Retries)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	for seed := range 2000 {
		q, busy, sent := New(1, three, options), []string{}, map[string]int{}
		for at, rnd := 0, uint32(seed); at < 2000; at += int(rnd>>8) % 40 {
			rnd = rnd*1664525 + 1013904223
			if len(busy) > 0 && rnd>>16%3 == 0 {
				q.Failed(0, busy[0])
				busy = busy[1:]
			}
			sends, _ := q.Step(ms(at))
			for _, s := range sends {
				if busy = append(busy, s.Node); slices.Contains(busy[:len(busy)-1], s.Node) {
					busy = slices.DeleteFunc(busy, func(n string) bool { return n == s.Node })
				}
				sent[fmt.Sprint(s.Node, q.shards[0].round)]++
			}
			waiting := 0
			for _, a := range q.shards[0].asked {
				if !a.failed {
					waiting++
				}
			}
			if waiting > 2 {
				t.Fatalf("seed %d: %d nodes are busy", seed, waiting)
			}
		}
		for who, n := range sent {
			if n > 1 {
				t.Fatalf("seed %d: %s was asked %d times", seed, who, n)
			}
		}
	}
}

// Hedging almost stops when every response would need it.
func TestHedgeFollowsLatencies(t *testing.T) {
	var r Latencies
	if got := r.Hedge(); got != maxHedge {
		t.Errorf("knowing nothing: %v", got)
	}
	for i := range 1024 {
		r.Add(time.Duration(i%100) * time.Millisecond)
	}
	if got := r.Hedge(); got < 290*time.Millisecond || got > 300*time.Millisecond {
		t.Errorf("three times 99 ms: %v", got)
	}
	hedged := 0
	for range 1000 {
		if r.Hedge() < never {
			hedged++
			r.Spent(1)
		}
		r.Add(time.Microsecond)
	}
	if hedged < 100 || hedged > 160 {
		t.Errorf("%d of 1,000 were hedged", hedged)
	}
	if got := r.Hedge(); got < never && got != minHedge {
		t.Errorf("after answers at once: %v", got)
	}
}

func TestLeastBusyNodeIsFirst(t *testing.T) {
	var b NodeLoad
	b.Add("a", 1)
	b.Add("a", 1)
	b.Add("b", 1)
	if got := b.Order([]string{"a", "b", "c", "d"}, 2, begin); !slices.Equal(got, []string{"b", "a", "c", "d"}) {
		t.Error(got)
	}
	b.Add("a", -1)
	b.Add("a", -1)
	b.MarkSlow("a", begin)
	if got := b.Order([]string{"a", "b"}, 2, ms(1999)); !slices.Equal(got, []string{"b", "a"}) {
		t.Error("while a was slow:", got)
	}
	if got := b.Order([]string{"b", "a"}, 2, ms(2000)); !slices.Equal(got, []string{"a", "b"}) || len(b.of) != 1 {
		t.Error(got, b.of)
	}
}

func TestSilentNodeIsReplaced(t *testing.T) {
	o, slow := options, ""
	o.Hedge, o.Slow = never, func(node string) { slow += node }
	q := New(1, three, o)
	told(t, q, 0, "", "a", 199, "", "", 200, "", "b", 399, "", "", 400, "", "c", 401, "answer", "")
	if slow != "ab" {
		t.Errorf("%q are slow", slow)
	}
	again := New(1, three, o)
	again.Step(ms(0))
	if _, at := again.Step(ms(1)); at != ms(200) {
		t.Errorf("to be called again after %v", at.Sub(begin))
	}
}

// A query with absent nodes continues.
func TestRefusalsEndQuery(t *testing.T) {
	wrong, damaged := fmt.Errorf("%w: wrong", cpar.ErrInput), fmt.Errorf("%w: damaged", cpar.ErrCorrupt)
	q := New(2, three, options)
	q.Step(ms(0))
	q.Refused(1, "a", wrong)
	if done, err := q.Done(); !done || !errors.Is(err, wrong) {
		t.Error("a wrong question:", done, err)
	}
	for name, silent := range map[string]string{"all refuse": "", "one is not there": "b"} {
		q := New(1, three, options)
		for at := range 3 {
			sends, _ := q.Step(ms(at))
			if sends[0].Node == silent {
				q.Failed(0, silent)
			} else {
				q.Refused(0, sends[0].Node, damaged)
			}
		}
		q.Step(ms(3))
		if done, err := q.Done(); done != (silent == "") || done && !errors.Is(err, damaged) {
			t.Errorf("%s: over %v, %v", name, done, err)
		}
	}
}
