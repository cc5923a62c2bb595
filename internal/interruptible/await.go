// Package interruptible waits for answers that cannot be cancelled: keyboard
// input or a keyring that the user must unlock.
//
//	a context, a question ─▶ Answer ─▶ the answer or the context's error, whichever is first
package interruptible

import "context"

// Answer returns the result of `ask`, or the context's error if ctx ends first.
// In the second case, function `ask` keeps running, because reading from a
// terminal cannot be cancelled.
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
