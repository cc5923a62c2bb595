package simulate

import (
	"cmp"
	"slices"
	"time"

	"cpar/cloud/placement"
)

// A node answers one shard after the other: what bounds it is the memory that it reads.
type node struct {
	*cluster
	name, rack string
	late       bool // was not there from the start
	gone       bool
	silent     bool          // gone, and its connections are not known to be closed
	leaving    bool          // serves what it holds, and gets nothing more
	frozen     time.Duration // until then it does nothing
	slow       float64       // how many times longer all takes
	freeAt     time.Duration // when it has answered all that it was asked
	served     float64       // bytes

	holds    map[int]bool
	pending  map[int]bool // assigned, and not yet there
	wanted   []shard      // to be fetched, the next first
	fetching bool
}

// asked lets a node answer. A node that is gone is known not to be there; but one that was lost with
// its connections open says nothing for a while.
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

// want has a shard fetched, before all others if somebody asked for it.
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

// fetch fetches the next shard.
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

// A view is the nodes that routers know of: all that are there, and those that stay.
type view struct{ all, remaining *placement.Map }

// see makes the view what is true now; gone nodes that the view still has are for the caller.
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
	f.view = view{placement.New(all), placement.New(stay)}
}

// places are the nodes to ask for a slot.
func (v view) replicas(s placement.Slot) []string {
	return placement.Candidates(v.remaining, v.all, s, Replicas)
}

// settle tells nodes what they are to hold.
func (f *cluster) assign(hold func(n *node, s shard)) {
	for _, s := range f.shards {
		for _, i := range f.view.remaining.Nodes(s.slot, Replicas) {
			if n := f.nodes[f.view.remaining.Name(i)]; !n.holds[s.number] {
				hold(n, s)
			}
		}
	}
}

// changed is what happens once routers and nodes know of a change.
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

// fullest is the most that a node has of something, over the mean of those that were there all
// the time, as fast as others.
func (f *cluster) fullest(of func(*node) float64) float64 {
	most, sum, count := 0.0, 0.0, 0
	for _, n := range f.nodes {
		if !n.gone && !n.leaving && !n.late && n.slow == 1 {
			most, sum, count = max(most, of(n)), sum+of(n), count+1
		}
	}
	return most * float64(count) / sum
}

// sorted are all nodes, in an order that does not depend on chance.
func (f *cluster) sorted() []*node {
	var out []*node
	for _, n := range f.nodes {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	return out
}
