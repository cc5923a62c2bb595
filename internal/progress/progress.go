// Package progress defines how long-running work reports its progress.
package progress

// A Func receives the name of a stage, the amount done and the total. It may be
// nil and called concurrently.
type Func func(stage string, done, total int)

func (f Func) Report(stage string, done, total int) {
	if f != nil {
		f(stage, done, total)
	}
}
