package kdforest

import "errors"

// This package imports only the standard library, so that package cpar can embed a
// Forest; callers add cpar.ErrInput or cpar.ErrCorrupt to these errors.
var (
	// ErrInput: unusable rows or options.
	ErrInput = errors.New("kdforest: unusable input")
	// ErrCorrupt: not a valid forest (Validate).
	ErrCorrupt = errors.New("kdforest: damaged forest")
)

// None stands for the absent child, plane or record of a Node.
const None = ^uint32(0)

// Node is a record of a tree and the plane that divides the records below it. Records on
// or short of the plane (value ≤ the plane's) are in the left subtree, records beyond it
// in the right one. The node's own record lies exactly on the plane.
//
// With PlaceLeaf only leaves hold a record; every other node has two children and no record (None).
//
// Two kinds of node have no plane: leaves, and nodes whose records are equal in every
// dimension that may split. The latter halve their records, so that n identical records
// make a tree of depth log2(n) and not a chain of length n; a search takes their left
// side first and never prunes.
type Node struct {
	Record uint32 // or None
	Plane  uint32 // number of a shared plane, or None
	Left   uint32 // index into the Tree, or None
	Right  uint32
}

// Tree holds the nodes of one tree in preorder: the root is node 0 and a child comes
// after its parent. A tree over n records has n nodes, or 2n−1 if only leaves hold
// records.
type Tree []Node

// Forest is a set of trees over the same records. The trees share planes: nodes with
// equal (dimension, value) refer to one plane, whatever their tree. A forest holds no
// values. It is immutable once built and safe for concurrent use.
type Forest struct {
	Records uint32 // n; records are numbered 0…n−1
	Planes  uint32 // planes are numbered 0…Planes−1
	Trees   []Tree
}

// Number is a type of coordinate.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64
}

// Plane is the meaning of a plane number, known only to the owner: the points whose
// coordinate Dim equals Value.
type Plane[T Number] struct {
	Dim   int
	Value T
}

// Left reports whether a point lies on the left of the plane. Ties go left, as in the build.
func (p Plane[T]) Left(point []T) bool { return point[p.Dim] <= p.Value }
