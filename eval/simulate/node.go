package simulate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"cpar/cloud/placement"
)

// A node answers requests for shards one after the other, at the speed of its
// memory.
type node struct {
	*cluster
	name, rack string
	late       bool // joined after the start
	gone       bool
	silent     bool          // gone without closing its connections
	leaving    bool          // serves its shards but receives no more shards
	frozen     time.Duration // end of the period in which it does nothing
	slow       float64       // factor on the duration of answers
	freeAt     time.Duration // time at which it will have answered all requests
	served     float64       // bytes scored

	holds    map[int]bool
	pending  map[int]bool // assigned but not fetched yet
	wanted   []shard      // shards to fetch, in this order
	fetching bool
}

// answer replies for a shard. A node that is gone refuses at once. If it lost
// power, it is silent for a while, because its connections seem open.
func (n *node) answer(s shard, reply func(bool)) {
	switch {
	case n.silent:
	case n.gone:
		reply(false)
	case n.now < n.frozen:
		n.schedule(n.frozen, func() { n.answer(s, reply) })
	case !n.holds[s.number]:
		n.enqueueFetch(s, true)
		reply(false)
	default:
		took := time.Duration(float64(n.o.ShardBytes) / n.o.Read * n.slow * float64(time.Second))
		n.freeAt = max(n.freeAt, n.now) + took
		n.served += float64(n.o.ShardBytes)
		n.schedule(n.freeAt, func() {
			switch {
			case !n.gone:
				reply(true)
			case !n.silent:
				reply(false)
			}
		})
	}
}

func (n *node) enqueueFetch(s shard, first bool) {
	if n.holds[s.number] || n.gone {
		return
	}
	if at := slices.Index(n.wanted, s); at >= 0 {
		if !first {
			return
		}
		n.wanted = slices.Delete(n.wanted, at, at+1)
	}
	if first {
		n.wanted = slices.Insert(n.wanted, 0, s)
	} else {
		n.wanted = append(n.wanted, s)
	}
	if !n.fetching {
		n.fetch()
	}
}

func (n *node) fetch() {
	if n.fetching = len(n.wanted) > 0 && !n.gone; !n.fetching {
		return
	}
	s := n.wanted[0]
	n.wanted = n.wanted[1:]
	n.schedule(n.now+time.Duration(float64(n.o.ShardBytes)/n.o.Fetch*float64(time.Second)), func() {
		n.holds[s.number] = true
		n.out.Fetched += n.o.ShardBytes
		n.fetch()
	})
}

func (f *cluster) refreshView() {
	var all, stay []placement.Node
	for _, n := range f.sorted() {
		if n.gone {
			continue
		}
		all = append(all, placement.Node{Name: n.name, Rack: n.rack})
		if !n.leaving {
			stay = append(stay, all[len(all)-1])
		}
	}
	f.all, f.remaining = placement.New(all), placement.New(stay)
}

func (f *cluster) assign(hold func(n *node, s shard)) {
	for _, s := range f.shards {
		for _, i := range f.remaining.Nodes(s.slot, Replicas) {
			if n := f.nodes[f.remaining.Name(i)]; !n.holds[s.number] {
				hold(n, s)
			}
		}
	}
}

func (f *cluster) changed() {
	f.refreshView()
	f.assign(func(n *node, s shard) {
		if !n.pending[s.number] {
			n.pending[s.number] = true
			f.out.Moved += f.o.ShardBytes
			n.enqueueFetch(s, false)
		}
	})
}

// fullest returns the maximum of a quantity over the nodes, divided by its
// mean. It considers only nodes with normal speed that are present from start
// to end.
func (f *cluster) fullest(of func(*node) float64) float64 {
	most, sum, count := 0.0, 0.0, 0
	for _, n := range f.nodes {
		if !n.gone && !n.leaving && !n.late && n.slow == 1 {
			most, sum, count = max(most, of(n)), sum+of(n), count+1
		}
	}
	return most * float64(count) / sum
}

func (f *cluster) sorted() []*node {
	return slices.SortedFunc(maps.Values(f.nodes), func(a, b *node) int { return cmp.Compare(a.name, b.name) })
}
