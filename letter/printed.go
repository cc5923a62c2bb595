package letter

// Printed lists switches, each of which restores one line as printed in the
// paper to demonstrate its effect. Its zero value is the corrected system.
// Lines are those of Algorithm 1.
type Printed struct {
	// ReturnIfNotNull restores line 4, "if Node_k is not null then return". The
	// search then ends at the root and visits nothing.
	ReturnIfNotNull bool
	// LeavesHaveChildren restores lines 7 to 10 for leaves as far as they go
	// without a split field. Line 5 then returns nothing at the missing child,
	// lines 8 and 10 assign it to Node_k, and lines 12 and 13 push it.
	LeavesHaveChildren bool
	// SplitAtLeaves restores line 7, which compares the split field of every
	// node. Leaves have no split field.
	SplitAtLeaves bool
	// PushAfterChild restores line 14, where a node enters Path after the
	// search of its child. Node_k is then the leaf (lines 8 and 10), so that
	// Path holds the leaf once per level, and no node above it.
	PushAfterChild bool
	// EndlessRoot restores line 19, where an empty Path leaves `parent`
	// unchanged, so that only the number of visits ends the search. This
	// implementation ends with ErrStuck instead.
	EndlessRoot bool
	// UnfilledPrunes restores line 25, where V_qL is the last element of Queue
	// even if Queue is not full.
	UnfilledPrunes bool
	// SiblingEnds restores line 28, where the search of a sibling ends
	// backtracking.
	SiblingEnds bool
	// VisHoldsNodes restores line 12, where nodes of different trees are
	// different. An image is therefore scored once per tree and fills Queue
	// with copies.
	VisHoldsNodes bool
	// APOfTree restores Sec. VI: "X% of the nodes will be checked in each
	// tree". In the corrected system, Vis on line 17 counts the visits of all
	// trees together.
	APOfTree bool
	// LeavesPastAP restores line 17, which is evaluated only in backtracking. A
	// tree that is on its way down then still visits its leaf.
	LeavesPastAP bool
	// OneField restores the s_i of Sec. IV-D, a single number that selects both
	// a coordinate of V_L1 and a bin of V_KL.
	OneField bool
	// CompQLWithoutRequest restores V_qL·V_qLᵀ in the Queue push process. This
	// product does not involve the request. The cloud would need SᵀS to compute
	// it.
	CompQLWithoutRequest bool
	// DisOfSum restores Eq. 6: Dis = 2r + Σv_s² + Comp/r_s.
	DisOfSum bool
}
