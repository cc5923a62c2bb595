package modp

// A level is a set of kernels; each level includes those below it.
type level int

const (
	plain level = iota
	withAVX2
	withIFMA
)

// active is the level in use. Tests try every level that this processor has.
var active = best()

// Tiles reports whether many requests in an Operand cost much less than each alone: where there are
// no kernels for tiles they share memory but no arithmetic.
func Tiles() bool { return active == withIFMA }
