// Package await waits for whoever cannot be told to stop: a person who types, a keyring that a
// person must unlock.
//
//	a context, a question ─▶ Answer ─▶ the answer, or the context's end, whichever is first
package interruptible

import "context"

// Answer is what ask returns, unless ctx ends before. Whoever was asked is then left behind: a
// read of a terminal cannot be broken off.
func Answer(ctx context.Context, ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := ask()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
