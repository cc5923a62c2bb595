// Package placement assigns shards (parts of indexes) to the nodes of a
// cluster.
//
//	tenant, index, number of a shard ─BLAKE2b─▶ slot, one of 131,072
//	slot, nodes ─rendezvous─▶ nodes, best first; the first R hold the slot
//
// The method is rendezvous hashing (Thaler and Ravishankar, "Using name-based
// mappings to increase hit rates", IEEE/ACM Transactions on Networking 6,
// 1998). A hash gives every node a number for each slot, and the R nodes with
// the largest numbers hold the slot. Machines that know the same nodes compute
// the same assignment without coordination. A joining node takes slots evenly
// from all others, and a leaving node gives its slots evenly to all others. No
// slot moves between two nodes that stay.
package placement

import (
	"cmp"
	"encoding/binary"
	"slices"

	"golang.org/x/crypto/blake2b"

	"cpar"
)

// Slots is the number of slots. A large number spreads shards evenly over many
// nodes.
const Slots = 1 << 17

// A Slot is a group of shards that the same nodes hold.
type Slot uint32

func SlotOf(tenant string, index cpar.IndexID, shard int) Slot {
	b := append([]byte(tenant), 0) // no tenant name contains a zero byte
	b = append(b, index[:]...)
	return Slot(hash(binary.BigEndian.AppendUint64(b, uint64(shard))) % Slots)
}

// hash must mix well. With the hash FNV, one node got all slots if the names of
// nodes differed only in the last letter.
func hash(b []byte) uint64 {
	h := blake2b.Sum256(b)
	return binary.BigEndian.Uint64(h[:])
}

// A Node may hold slots. Its name is unique.
type Node struct {
	Name string
	// Rack names nodes that may fail together. Nodes without a rack fail
	// independently.
	Rack string
}

// A Map is an immutable set of nodes, safe for concurrent use.
type Map struct {
	nodes  []Node
	hashes []uint64
}

// New returns a Map of nodes, whose order has no effect.
func New(nodes []Node) *Map {
	m := &Map{nodes: slices.Clone(nodes)}
	slices.SortFunc(m.nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range m.nodes {
		m.hashes = append(m.hashes, hash([]byte(n.Name)))
	}
	return m
}

func (m *Map) Len() int { return len(m.nodes) }

// Nodes returns the numbers of up to n nodes for a slot, best first. The second
// node is the best node outside the first node's rack, if there is such a node,
// so that a slot survives the loss of a rack.
func (m *Map) Nodes(s Slot, n int) []int {
	slot := hash(binary.BigEndian.AppendUint32(nil, uint32(s)))
	n = min(n, len(m.nodes))
	out, oneRack := make([]int, 0, n+1), false
	for len(out) < n {
		best, most := -1, uint64(0)
		for i, node := range m.hashes {
			w := mix(node ^ slot)
			if (best < 0 || w > most) && !slices.Contains(out, i) && !(len(out) == 1 && !oneRack && m.sameRack(i, out[0])) {
				best, most = i, w
			}
		}
		if oneRack = best < 0; !oneRack { // oneRack is set if all nodes share the rack of the first node
			out = append(out, best)
		}
	}
	return out
}

func (m *Map) sameRack(a, b int) bool {
	return m.nodes[a].Rack != "" && m.nodes[a].Rack == m.nodes[b].Rack
}

func (m *Map) Name(i int) string { return m.nodes[i].Name }

// mix makes each output bit depend on all input bits (the finaliser of
// MurmurHash3). For hundreds of nodes it is much faster than BLAKE2b.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Candidates returns the nodes to ask for a slot, in order. First come the
// slot's holders according to `stay` (the nodes that are not leaving), then its
// holders according to `all`. The next two nodes in `stay` come last, because
// they may have held the slot before other nodes joined.
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
