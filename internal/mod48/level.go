package mod48

// A level is a set of kernels. Each level includes those below it.
type level int

const (
	plain level = iota
	withAVX2
	withIFMA
)

// active is the level in use. Tests try every level of this processor.
var active = best()
