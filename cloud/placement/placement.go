// Package place says which nodes of a cluster hold what.
//
//	tenant, index, number of a shard ─BLAKE2b─▶ slot, one of 131,072
//	slot, nodes ─rendezvous─▶ nodes, the best first; the first R hold it
//
// Rendezvous hashing is Thaler and Ravishankar, "Using name-based mappings to increase hit
// rates" (IEEE/ACM Transactions on Networking 6, 1998): every node draws a number for a slot,
// and the greatest win. Whoever knows the same nodes finds the same places, so that nothing
// need be agreed upon. A node that joins takes slots from all others alike, one that leaves
// gives its own to all others alike, and no slot moves between two that stay.
package placement

import (
	"cmp"
	"encoding/binary"
	"slices"

	"golang.org/x/crypto/blake2b"

	"cpar"
)

// Slots is the number of slots. The more there are, the more evenly they lie on many nodes.
const Slots = 1 << 17

// A Slot is a share of all that is held.
type Slot uint32

// Of is the slot of a shard of an index.
func SlotOf(tenant string, index cpar.IndexID, shard int) Slot {
	b := append([]byte(tenant), 0) // no tenant's name has one
	b = append(b, index[:]...)
	return Slot(hash(binary.BigEndian.AppendUint64(b, uint64(shard))) % Slots)
}

// hash is a good hash: with FNV, names that differ in their last letter gave one node everything.
func hash(b []byte) uint64 {
	h := blake2b.Sum256(b)
	return binary.BigEndian.Uint64(h[:])
}

// A Node may hold slots. Names are unique.
type Node struct {
	Name string
	// Rack is what may be lost with it; nodes without one share none.
	Rack string
}

// A Map knows nodes. It does not change, and may be used by several goroutines at once.
type Map struct {
	nodes  []Node
	hashes []uint64
}

// New makes the map of some nodes, in any order.
func New(nodes []Node) *Map {
	m := &Map{nodes: slices.Clone(nodes)}
	slices.SortFunc(m.nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range m.nodes {
		m.hashes = append(m.hashes, hash([]byte(n.Name)))
	}
	return m
}

// Len is the number of nodes.
func (m *Map) Len() int { return len(m.nodes) }

// Nodes returns the numbers of up to n nodes for a slot, the best first. The second is the best in
// another rack than the first, if there is one: one rack that is lost takes no slot with it.
func (m *Map) Nodes(s Slot, n int) []int {
	slot := hash(binary.BigEndian.AppendUint32(nil, uint32(s)))
	n = min(n, len(m.nodes))
	out := make([]int, 0, n+1)
	for len(out) < n {
		best, most := -1, uint64(0)
		for i, node := range m.hashes {
			w := mix(node ^ slot)
			if (best < 0 || w > most) && !slices.Contains(out, i) && !(len(out) == 1 && m.sameRack(i, out[0])) {
				best, most = i, w
			}
		}
		if best < 0 { // all are in the rack of the first
			return m.within(out, slot, n)
		}
		out = append(out, best)
	}
	return out
}

// within goes on where there is one rack.
func (m *Map) within(out []int, slot uint64, n int) []int {
	all := make([]int, len(m.nodes))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(mix(m.hashes[b]^slot), mix(m.hashes[a]^slot)) })
	return append(out[:0], all[:n]...)
}

func (m *Map) sameRack(a, b int) bool {
	return m.nodes[a].Rack != "" && m.nodes[a].Rack == m.nodes[b].Rack
}

// Name is the name of node i of Nodes.
func (m *Map) Name(i int) string { return m.nodes[i].Name }

// mix makes every bit of a word depend on all (the finaliser of MurmurHash3). Two hashes are thus
// one number for a node and a slot, in nanoseconds where BLAKE2b of both takes a fraction of a
// microsecond for each of hundreds of nodes.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Ask returns the names of the nodes to ask for a slot that so many hold: those that hold it; of all nodes,
// some of which may be leaving, those that held it before; and two more, which held it before others came.
func Candidates(stay, all *Map, s Slot, holders int) []string {
	var out []string
	add := func(m *Map, of []int) {
		for _, i := range of {
			if name := m.Name(i); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	places := stay.Nodes(s, holders+2)
	add(stay, places[:min(holders, len(places))])
	if all.Len() > stay.Len() {
		add(all, all.Nodes(s, holders))
	}
	add(stay, places)
	return out
}
