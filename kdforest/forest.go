package kdforest

import "errors"

// The package imports only the standard library, so that package cpar can embed
// a Forest. Callers therefore add cpar.ErrInput or cpar.ErrCorrupt to these
// errors.
var (
	// ErrInput reports unusable rows or options.
	ErrInput = errors.New("kdforest: unusable input")
	// ErrCorrupt reports a forest that Validate rejects.
	ErrCorrupt = errors.New("kdforest: damaged forest")
)

// None marks a missing child, plane or record of a Node.
const None = ^uint32(0)

// Node holds the number of a record and of the plane that divides the records
// below it. Records with values ≤ the plane's are on the left, and all others
// on the right. The node's own record lies on the plane. With PlaceLeaf only
// leaves hold a record, and every other node has two children.
//
// Leaves have no plane. A node whose records are equal in every dimension also
// has no plane, but divides them into halves. A search enters the left half
// first and never skips either half.
type Node struct {
	Record uint32 // or None
	Plane  uint32 // number of a shared plane, or None
	Left   uint32 // index into the Tree, or None
	Right  uint32
}

// Tree holds the nodes of one tree in preorder: node 0 is the root, and
// children follow their parents. A tree over n records has n nodes, or 2n−1
// with PlaceLeaf.
type Tree []Node

// Forest is a set of trees over the same records. Nodes with equal (dimension,
// value) share a plane, across all trees. A forest holds no values. It is
// immutable once built and safe for concurrent use.
type Forest struct {
	Records uint32 // number n of records, which are numbered 0…n−1
	Planes  uint32 // number of planes, which are numbered 0…Planes−1
	Trees   []Tree
}

type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64
}

// Plane is the set of points whose coordinate Dim equals Value. Only the owner
// knows these two numbers.
type Plane[T Number] struct {
	Dim   int
	Value T
}

// Left reports whether a point lies on the left of the plane. A point on the
// plane counts as left, as in the build.
func (p Plane[T]) Left(point []T) bool { return point[p.Dim] <= p.Value }
