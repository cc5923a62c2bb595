// Package progress defines how long-running work reports its progress.
package progress

// A Func receives the name of a stage, the amount of work done in it, and its
// total. A Func may be nil. Several goroutines may call it at once.
type Func func(stage string, done, total int)

func (f Func) Report(stage string, done, total int) {
	if f != nil {
		f(stage, done, total)
	}
}
