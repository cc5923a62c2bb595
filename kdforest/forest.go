package kdforest

import "errors"

// This package imports the standard library only, so that package cpar can hold
// a Forest; callers add cpar.ErrInput or cpar.ErrCorrupt to these.
var (
	// ErrInput: rows or options that cannot be used.
	ErrInput = errors.New("kdforest: unusable input")
	// ErrCorrupt: a forest that is not one (Validate).
	ErrCorrupt = errors.New("kdforest: damaged forest")
)

// None stands for the absent child, plane or record of a Node.
const None = ^uint32(0)

// Node is one record of a tree and the plane that divides the records below
// it. Records on the plane or short of it (value ≤ the plane's) are in the left
// subtree, records beyond it in the right one; the node's own record lies
// exactly on the plane.
//
// In a forest built with PlaceLeaf only leaves hold a record; every other node
// has two children, and None for its record.
//
// Two kinds of node have no plane: leaves, and nodes whose records are all
// equal in every dimension that may split. The latter divide their records in
// halves, so that n identical records make a tree of depth log2(n) and not a
// chain of length n; a search takes their left side first and never prunes.
type Node struct {
	Record uint32 // or None
	Plane  uint32 // number of a shared plane, or None
	Left   uint32 // index into the Tree, or None
	Right  uint32
}

// Tree holds the nodes of one tree in preorder: the root is node 0 and a
// child comes after its parent. A tree over n records has n nodes, or 2n−1 where
// only leaves hold records.
type Tree []Node

// Forest is a set of trees over the same records, which share their planes:
// nodes of equal (dimension, value) name one plane, whatever their tree. It
// holds no values. A Forest is never written to after it is built, and may be
// searched by many goroutines at once.
type Forest struct {
	Records uint32 // n; records are numbered 0…n−1
	Planes  uint32 // planes are numbered 0…Planes−1
	Trees   []Tree
}

// Number is what a dimension may be measured in.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64
}

// Plane is what a plane number stands for, known to the owner only: the points
// whose coordinate Dim equals Value.
type Plane[T Number] struct {
	Dim   int
	Value T
}

// Left reports the side of the plane on which a point lies. Ties go left, as
// they were built.
func (p Plane[T]) Left(point []T) bool { return point[p.Dim] <= p.Value }
