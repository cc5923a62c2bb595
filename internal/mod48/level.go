package mod48

// A level is a set of kernels; each level includes those below it.
type level int

const (
	plain level = iota
	withAVX2
	withIFMA
)

// active is the level in use. Tests try every level that this processor has.
var active = best()
