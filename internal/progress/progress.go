// Package progress is how long work says how far it has come.
package progress

// A Func is told that a stage has done so much of its total. It may be nil, and
// is called by several goroutines at once.
type Func func(stage string, done, total int)

// Report calls f where there is one.
func (f Func) Report(stage string, done, total int) {
	if f != nil {
		f(stage, done, total)
	}
}
