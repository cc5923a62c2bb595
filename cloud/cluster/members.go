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
	beatEvery = 2 * time.Second
	// lease is the time for which a node counts as live after a heartbeat. It
	// must exceed the failover to another NATS server, which takes more than
	// four seconds.
	lease = 15 * time.Second
)

// A Beat is a heartbeat of a node.
type Beat struct {
	Node string `json:"node"`
	Rack string `json:"rack,omitempty"`
	// Leaving means that the node takes no new shards.
	Leaving bool `json:"leaving,omitempty"`
	// Gone means that the node stops now.
	Gone   bool `json:"gone,omitempty"`
	Shards int  `json:"parts"`
	// Life is random and distinguishes machines with the same name.
	Life uint64 `json:"life"`
}

// members tracks the live nodes known to this machine. Machines may disagree
// about the nodes. This is harmless, because a node refuses requests for shards
// that it has not loaded.
type members struct {
	mu      sync.Mutex
	seen    map[string]heard
	view    *view // nil until computed from seen
	changed func()
}

type heard struct {
	Beat
	until time.Time
}

type view struct{ all, stay *placement.Map } // stay lacks leaving nodes

func newMembers(changed func()) *members { return &members{seen: map[string]heard{}, changed: changed} }

func (m *members) hear(b []byte, now time.Time) (beat Beat) {
	if json.Unmarshal(b, &beat) != nil || CheckName(beat.Node) != nil {
		return Beat{} // ignore messages of other versions or programs
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

func (m *members) list() (all []Beat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.seen {
		all = append(all, h.Beat)
	}
	slices.SortFunc(all, func(a, b Beat) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

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
