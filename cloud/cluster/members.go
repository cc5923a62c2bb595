package cluster

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"cpar/cloud/placement"
)

const (
	// beatEvery is how often a node says that it lives, lease how long it counts as alive after that. A
	// lease of 4 seconds would be over before a broker's failover is, and make the living dead.
	beatEvery = 2 * time.Second
	lease     = 15 * time.Second
)

// A Beat is what a node says of itself.
type Beat struct {
	Node string `json:"node"`
	Rack string `json:"rack,omitempty"`
	// Leaving: it answers what it holds and is given nothing more. Gone: it stops now.
	Leaving bool `json:"leaving,omitempty"`
	Gone    bool `json:"gone,omitempty"`
	Shards  int  `json:"parts"`
	// Life tells a machine from another that has its name.
	Life uint64 `json:"life"`
}

// members are the nodes that live, as far as this machine has heard. It needs no agreement:
// while two machines differ, nodes are asked for parts that they do not have and say so.
type members struct {
	mu   sync.Mutex
	seen map[string]heard
	view *view // nil: to be made
	// changed is told of another view.
	changed func()
}

type heard struct {
	Beat
	until time.Time
}

// A view is the nodes that live, and those that stay.
type view struct{ all, stay *placement.Map }

func newMembers(changed func()) *members { return &members{seen: map[string]heard{}, changed: changed} }

// hear takes a beat, and returns it, or nothing if it makes no sense.
func (m *members) hear(b []byte, now time.Time) (beat Beat) {
	if json.Unmarshal(b, &beat) != nil || CheckName(beat.Node) != nil {
		return Beat{} // of another version, or not ours
	}
	m.mu.Lock()
	before, known := m.seen[beat.Node]
	m.seen[beat.Node] = heard{beat, now.Add(lease)}
	if beat.Gone {
		delete(m.seen, beat.Node)
	}
	other := known == beat.Gone || before.Leaving != beat.Leaving || before.Rack != beat.Rack
	if other {
		m.view = nil
	}
	m.mu.Unlock()
	if other {
		m.changed()
	}
	return beat
}

// expire forgets nodes that were not heard of for the length of a lease.
func (m *members) expire(now time.Time) {
	m.mu.Lock()
	n := len(m.seen)
	for name, h := range m.seen {
		if now.After(h.until) {
			delete(m.seen, name)
			m.view = nil
		}
	}
	other := len(m.seen) != n
	m.mu.Unlock()
	if other {
		m.changed()
	}
}

// list is what was last heard of those that live, in order.
func (m *members) list() (all []Beat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.seen {
		all = append(all, h.Beat)
	}
	slices.SortFunc(all, func(a, b Beat) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// now is the view.
func (m *members) current() *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		var all, stay []placement.Node
		for _, h := range m.seen {
			all = append(all, placement.Node{Name: h.Node, Rack: h.Rack})
			if !h.Leaving {
				stay = append(stay, all[len(all)-1])
			}
		}
		m.view = &view{placement.New(all), placement.New(stay)}
	}
	return m.view
}
