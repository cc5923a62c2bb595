// Package stdout is the standard output of a command. It remembers that something was
// lost, which whoever prints need not look at: a person who keeps the output must not take
// half of it for all.
//
//	prints ─▶ Output ─▶ file, pipe, terminal        End ─▶ ErrStorage, if a byte was lost
package stdout

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"

	"cpar"
)

// An Output passes on what is written to it. Several goroutines may write.
type Output struct {
	mu   sync.Mutex
	to   io.WriteCloser
	lost error
}

// New is an output that ends in to.
func New(to io.WriteCloser) *Output { return &Output{to: to} }

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(p)
	o.lost = cmp.Or(o.lost, err)
	return n, err
}

// End closes the output, where some file systems only say that they are full, and returns
// the error to end with: err, unless it is nil or only says that output was lost.
func (o *Output) End(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = cmp.Or(o.lost, o.to.Close())
	if o.lost == nil || err != nil && !errors.Is(err, o.lost) {
		return err
	}
	return fmt.Errorf("printing the result: %w: %w", cpar.ErrStorage, o.lost)
}
