package modq

// A level is a set of kernels. Each level includes those below it.
type level int

const (
	plain level = iota
	withAVX2
	withAVX512
)

func (l level) String() string { return [...]string{"plain Go", "AVX2", "AVX-512"}[l] }

// active is the level in use. Tests try every level of this processor.
var active = best()

// Kernels names the kernels in use for timing reports: "plain Go", "AVX2" or
// "AVX-512".
func Kernels() string { return active.String() }
