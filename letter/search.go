package letter

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// A Comparer computes the three comparisons of Sec. IV-A for one request,
// either over ciphertexts at the cloud or over plaintext.
type Comparer interface {
	// left reports whether V_s[s_i] ≤ V_i[s_i] (line 7): the request is left of
	// the node's hyperplane.
	left(n *Node) bool
	// comp returns Comp_Node or Comp_qL, the value by which type-1 comparisons
	// (two vectors) order vectors.
	comp(n *Node) float64
	// compPlane returns Comp_h, the value by which type-2 comparisons (vector
	// and hyperplane) order hyperplanes.
	compPlane(n *Node) float64
	// compPrinted returns Comp_qL as the paper prints it in the Queue push
	// process.
	compPrinted(qL, cur *Node) (float64, error)
}

var ErrStuck = errors.New("the search cannot go on as printed")

type Stats struct {
	Visited        int   // number of images in Vis (of nodes if Printed.VisHoldsNodes is set)
	Planes, Pruned int   // number of type-2 comparisons with a full Queue, and number of sides skipped
	Parents        int   // number of visits made by lines 21 to 23
	Order          []int // images in the order in which they entered Vis
}

// A Search configures Algorithm 1.
type Search struct {
	L  int     // size of Queue
	AP float64 // approximation power: share of images visited, 0 to 1
	// Parallel searches all trees at once, as in line 2. Each tree's visits
	// then depend on timing. Otherwise the trees take turns, one visit at a
	// time.
	Parallel bool
}

// Annotate performs Privacy-preserving Annotation on Cloud (Sec. IV-D4).
func (c *Cloud) Annotate(q *Request, how Search) (*Reply, error) {
	if c.SS != nil {
		q.L1.SS, q.L1.SSPlane, q.KL.SS = c.SS, c.SSPlane, c.SSKL
	}
	q.L1.count, q.KL.count = c.Count, c.Count
	return c.Search(&encrypted{q}, how)
}

type encrypted struct{ q *Request }

func (e *encrypted) left(n *Node) bool { return e.q.OPE[n.Field] <= n.OPE }

func (e *encrypted) comp(n *Node) float64 { return -2*e.q.L1.Vector(n.CV1) + e.q.KL.Inner(n.CVKL) }

func (e *encrypted) compPlane(n *Node) float64 { return -2*e.q.L1.Plane(n.CH1) + e.q.KL.Inner(n.CHKL) }

func (e *encrypted) compPrinted(_, _ *Node) (float64, error) {
	return 0, fmt.Errorf("%w: V_qL·V_qLᵀ needs SᵀS, which no request contains", ErrStuck)
}

// Search runs Algorithm 1, Privacy-preserving RKDF Search. Numbers in comments
// are lines of Algorithm 1.
func (c *Cloud) Search(compare Comparer, how Search) (*Reply, error) {
	s := &search{Search: how, compare: compare, printed: c.printed, images: c.Images, vis: map[int]bool{}} // line 1
	walks := make([]*walk, len(c.Trees))
	for k, nodes := range c.Trees {
		walks[k] = &walk{search: s, tree: k, nodes: nodes}
	}
	if how.Parallel { // line 2
		var trees sync.WaitGroup
		for _, w := range walks {
			trees.Go(func() { w.run(func() {}) })
		}
		trees.Wait()
	} else {
		inTurn(walks)
	}
	for _, w := range walks {
		if w.err != nil {
			return nil, fmt.Errorf("searching tree %d: %w", w.tree, w.err)
		}
	}
	r := &Reply{Stats: s.stats}
	for _, x := range s.queue {
		r.Images, r.Comp, r.Keywords = append(r.Images, x.node.Image), append(r.Comp, x.comp), append(r.Keywords, x.node.Keywords)
	}
	return r, nil
}

// inTurn lets the trees take turns, one visit at a time, so that a search is
// reproducible.
func inTurn(walks []*walk) {
	var next []func() (struct{}, bool)
	for _, w := range walks {
		step, stop := iter.Pull(func(yield func(struct{}) bool) {
			w.run(func() { yield(struct{}{}) })
		})
		defer stop()
		next = append(next, step)
	}
	for len(next) > 0 {
		next = slices.DeleteFunc(next, func(step func() (struct{}, bool)) bool {
			_, more := step()
			return !more
		})
	}
}

// search holds the state that all trees share: Queue and Vis.
type search struct {
	Search
	compare Comparer
	printed Printed
	images  int

	mu    sync.Mutex
	vis   map[int]bool
	queue []candidate
	stats Stats
}

type candidate struct {
	node *Node
	comp float64
}

type walk struct {
	*search
	tree   int
	nodes  []Node
	visits int
	steps  int
	pause  func() // called after each visit
	err    error
}

func (w *walk) run(pause func()) {
	w.pause = pause
	w.searchBelow(0)
}

// searchBelow applies both functions of Algorithm 1 to the subtree at node k,
// the tree (line 2) or a sibling (line 28), with its own Path.
func (w *walk) searchBelow(k int) {
	var path []int // Path
	k = w.topDownTraversal(k, &path)
	w.backTraceSearch(k, &path)
}

// topDownTraversal runs lines 3 to 15 from node k, which is Node_k. It returns
// the leaf that it reaches, or none if a node lacks the child on the request's
// side.
func (w *walk) topDownTraversal(k int, path *[]int) int {
	if w.err != nil || (k == none) != w.printed.ReturnIfNotNull { // 4
		return none // 5
	}
	node := &w.nodes[k] // 6
	if !node.leaf() || w.printed.SplitAtLeaves || w.printed.LeavesHaveChildren {
		if !w.printed.PushAfterChild {
			*path = append(*path, k) // 14, but before the child's search
		}
		k = w.topDownTraversal(w.near(node), path) // 7 to 10
	}
	w.visit(k) // 11 to 13
	if w.printed.PushAfterChild && k != none {
		*path = append(*path, k) // 14
	}
	return k // 15
}

// near returns the child on the request's side (line 7). For a request on the
// hyperplane, it returns the left child.
func (w *walk) near(n *Node) int {
	switch {
	case n.CH1 != nil && w.compare.left(n): // 7
		return n.Left // 8
	case n.CH1 != nil: // 9
		return n.Right // 10
	case w.printed.SplitAtLeaves:
		w.err = fmt.Errorf("%w: line 7 compares OPE(V_i[s_i]) of a leaf, which has none", ErrStuck)
	case n.Left != none: // the images below are identical and were divided into halves
		return n.Left
	}
	return n.Right
}

// visit runs lines 11 to 13, or 21 to 23, and reports whether node k was new to
// Vis. Once line 17 holds, it adds nothing, so that a tree that is on its way
// down then stops like the others.
func (w *walk) visit(k int) bool {
	if k == none {
		if w.printed.LeavesHaveChildren && w.err == nil {
			w.err = fmt.Errorf("%w: lines 12 and 13 push what line 5 returned, which is nothing", ErrStuck)
		}
		return false
	}
	n := &w.nodes[k]
	key := n.Image
	if w.printed.VisHoldsNodes {
		key += w.tree * w.images
	}
	w.mu.Lock()
	fresh := !w.vis[key] && (w.printed.LeavesPastAP || !w.spent())
	if fresh {
		w.vis[key] = true
		w.visits++
		w.stats.Visited++
		w.stats.Order = append(w.stats.Order, n.Image)
	}
	w.mu.Unlock()
	if fresh {
		w.push(n)
		w.pause()
	}
	return fresh
}

// backTraceSearch runs lines 16 to 29. Node k is Node_k, from which the search
// returns to its parent, the last node of Path.
func (w *walk) backTraceSearch(k int, path *[]int) {
	if w.steps++; w.steps > 4*len(w.nodes)+4 && w.err == nil {
		w.err = fmt.Errorf("%w: nothing ends backtracking at the root", ErrStuck)
	}
	w.mu.Lock()
	spent := w.spent() // 17
	w.mu.Unlock()
	if w.err != nil || spent {
		return // 18
	}
	parent := k
	switch {
	case len(*path) > 0: // 19
		last := len(*path) - 1
		parent, *path = (*path)[last], (*path)[:last] // 20
	case !w.printed.EndlessRoot || k == none:
		return
	}
	if w.visit(parent) { // 21 to 23
		w.mu.Lock()
		w.stats.Parents++
		w.mu.Unlock()
	}
	if !w.prunes(&w.nodes[parent]) { // 24, 25, 27
		sibling := w.nodes[parent].sibling(k)
		if w.printed.SiblingEnds {
			w.topDownTraversal(sibling, path) // 28
			return                            // 29
		}
		w.searchBelow(sibling) // 28
	}
	w.backTraceSearch(parent, path) // 26
}

// spent evaluates line 17: Vis.length() > AP-X × Nodes Number. The caller holds
// the lock.
func (w *walk) spent() bool {
	visits := len(w.vis)
	if w.printed.APOfTree {
		visits = w.visits
	}
	return float64(visits) > w.AP*float64(w.images)
}

// prunes evaluates line 25, Dis(V_qL, V_s) < Dis(H_parent, V_s), by the sign of
// Comp_qL − Comp_h.
func (w *walk) prunes(parent *Node) bool {
	if parent.CH1 == nil {
		return false // a leaf has no hyperplane and no far side
	}
	w.mu.Lock()
	n := len(w.queue)
	if n == 0 || n < w.L && !w.printed.UnfilledPrunes {
		w.mu.Unlock()
		return false
	}
	qL := w.queue[n-1].node
	w.mu.Unlock()
	compQL, compH := w.compare.comp(qL), w.compare.compPlane(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Planes++
	if compQL >= compH {
		return false
	}
	w.stats.Pruned++
	return true
}

// push runs Queue.push, lines 30 to 37. If another tree changes Queue during
// the comparison, push compares again.
func (w *walk) push(n *Node) {
	comp := w.compare.comp(n)
	for {
		w.mu.Lock()
		if len(w.queue) < w.L { // 32
			w.insert(n, comp) // 33
			w.mu.Unlock()
			return
		}
		worst := w.queue[len(w.queue)-1]
		w.mu.Unlock()
		compQL, err := w.compQL(worst.node, n)
		if w.err = err; err != nil || comp >= compQL { // 35
			return
		}
		w.mu.Lock()
		same := w.queue[len(w.queue)-1] == worst
		if same {
			w.queue = w.queue[:len(w.queue)-1] // 36
			w.insert(n, comp)                  // 37
		}
		w.mu.Unlock()
		if same {
			return
		}
	}
}

func (w *walk) compQL(worst, n *Node) (float64, error) {
	if w.printed.CompQLWithoutRequest {
		return w.compare.compPrinted(worst, n)
	}
	return w.compare.comp(worst), nil
}

func (w *walk) insert(n *Node, comp float64) {
	i, _ := slices.BinarySearchFunc(w.queue, comp, func(c candidate, comp float64) int { return cmp.Or(cmp.Compare(c.comp, comp), -1) })
	w.queue = slices.Insert(w.queue, i, candidate{n, comp})
}
