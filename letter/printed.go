package letter

// Printed restores printed lines one by one to demonstrate their effect. Its
// zero value is the corrected system. Line numbers refer to Algorithm 1.
type Printed struct {
	// ReturnIfNotNull, line 4: "if Node_k is not null then return". The search
	// ends at the root and visits nothing.
	ReturnIfNotNull bool
	// SplitAtLeaves, line 7: the split field of every node is compared. Leaves
	// have none.
	SplitAtLeaves bool
	// ChildReplacesNode, lines 8 and 10: Node_k becomes the result of its
	// child's search. With line 14 as printed too, every node on the way back
	// is the leaf.
	ChildReplacesNode bool
	// PushAfterChild, line 14: a node enters Path after the search of its
	// child, so that Path.pop() on line 20 returns the root first instead of
	// the parent. Far sides are searched from the farthest on.
	PushAfterChild bool
	// EndlessRoot, line 19: an empty Path leaves parent unchanged, and only the
	// number of visits ends the search. Here it ends with ErrStuck.
	EndlessRoot bool
	// UnfilledPrunes, line 25: V_qL is the last in Queue, even if Queue is not
	// full.
	UnfilledPrunes bool
	// SiblingOfNode, line 28: the sibling of the traversal's result, the root,
	// which has none.
	SiblingOfNode bool
	// SiblingEnds, line 28: the search of a sibling ends backtracking.
	SiblingEnds bool
	// VisHoldsNodes, line 12: nodes of different trees are different, so an
	// image is scored once a tree and fills Queue with copies.
	VisHoldsNodes bool
	// APOfTree, Sec. VI: "X% of the nodes will be checked in each tree". On
	// line 17 Vis is shared by all trees.
	APOfTree bool
	// OneField, Sec. IV-D: one s_i counts the coordinates of V_L1 and the bins
	// of V_KL alike.
	OneField bool
	// CompQLWithoutRequest, the Queue push process: V_qL·V_qLᵀ, without the
	// request. The cloud would need SᵀS for it.
	CompQLWithoutRequest bool
	// DisOfSum, Eq. 6: Dis = 2r + Σv_s² + Comp/r_s.
	DisOfSum bool
}
