// Package progress is how long-running work reports its progress.
package progress

// A Func receives how much of a stage's total is done. It may be nil, and several
// goroutines may call it at once.
type Func func(stage string, done, total int)

// Report calls f unless it is nil.
func (f Func) Report(stage string, done, total int) {
	if f != nil {
		f(stage, done, total)
	}
}
