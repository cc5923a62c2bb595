package placement

import (
	"fmt"
	"slices"
	"testing"

	"cpar"
)

func nodes(n, perRack int) (out []Node) {
	for i := range n {
		node := Node{Name: fmt.Sprintf("node-%d", i)}
		if perRack > 0 {
			node.Rack = fmt.Sprint("rack-", i/perRack)
		}
		out = append(out, node)
	}
	return out
}

func (m *Map) names(s Slot, n int) (out []string) {
	for _, i := range m.Nodes(s, n) {
		out = append(out, m.Name(i))
	}
	return out
}

// The fullest of hundreds of nodes holds about three standard deviations more
// than the average: 1 + 3/√n.
func TestSlotsSpreadEvenly(t *testing.T) {
	for _, c := range []struct {
		nodes, perRack int
		most           float64
	}{{3, 0, 1.02}, {30, 0, 1.05}, {300, 0, 1.13}, {300, 30, 1.13}} {
		m := New(nodes(c.nodes, c.perRack))
		held := make([]int, c.nodes)
		for s := range Slot(Slots) {
			for _, i := range m.Nodes(s, 2) {
				held[i]++
			}
		}
		if most := float64(slices.Max(held)) * float64(c.nodes) / (2 * Slots); most > c.most {
			t.Errorf("%d nodes: the fullest has %.3f times the mean, want at most %g", c.nodes, most, c.most)
		}
	}
}

func TestJoiningNodeMovesOnlyItsSlots(t *testing.T) {
	before, after := New(nodes(30, 0)), New(append(nodes(30, 0), Node{Name: "another"}))
	moved := 0
	for s := range Slot(Slots) {
		was, is := before.names(s, 2), after.names(s, 2)
		at := slices.Index(is, "another")
		if at < 0 && !slices.Equal(was, is) {
			t.Fatalf("slot %d moves from %v to %v", s, was, is)
		}
		if at >= 0 {
			moved++
			if rest := slices.Delete(slices.Clone(is), at, at+1); rest[0] != was[0] {
				t.Fatalf("slot %d: %v, then %v", s, was, is)
			}
		}
	}
	if ideal := 2.0 * Slots / 31; float64(moved) > 1.05*ideal || float64(moved) < 0.95*ideal {
		t.Errorf("%d slots moved, ideally %.0f", moved, ideal)
	}
}

func TestReplicasUseTwoRacks(t *testing.T) {
	m := New(nodes(12, 4))
	for s := range Slot(2000) {
		held := m.Nodes(s, 3)
		if len(held) != 3 || m.sameRack(held[0], held[1]) || slices.Contains(held[:2], held[2]) || held[0] == held[1] {
			t.Fatalf("slot %d: %v", s, m.names(s, 3))
		}
	}
	one, none := New(nodes(5, 5)), New(nodes(5, 0))
	for s := range Slot(2000) {
		if got, want := one.names(s, 9), none.names(s, 9); len(got) != 5 || !slices.Equal(got, want) {
			t.Fatalf("slot %d in one rack: %v, without racks %v", s, got, want)
		}
	}
}

// Nodes of two versions may share a cluster.
func TestAssignmentIsStable(t *testing.T) {
	some := nodes(7, 0)
	a := New(some)
	slices.Reverse(some)
	b := New(some)
	for s := range Slot(1000) {
		if !slices.Equal(a.names(s, 3), b.names(s, 3)) {
			t.Fatal(s)
		}
	}
	id := cpar.IndexID{1, 2, 3}
	if got := fmt.Sprint(SlotOf("", id, 0), SlotOf("", id, 1), SlotOf("0123456789abcdef", id, 0), a.names(5, 3)); got != pinned {
		t.Errorf("places are %s, were %s", got, pinned)
	}
}

const pinned = `51735 128762 10756 [node-2 node-6 node-3]`
