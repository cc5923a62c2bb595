// Package stdout is a command's standard output. It remembers write errors, so
// that callers can print without checks and a truncated output still ends the
// command with an error.
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

// An Output forwards writes. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	to   io.WriteCloser
	lost error
}

func New(to io.WriteCloser) *Output { return &Output{to: to} }

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(p)
	o.lost = cmp.Or(o.lost, err)
	return n, err
}

// End closes the output, because some file systems report a full disk only
// then. It returns err, unless err is nil or only reports lost output.
func (o *Output) End(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = cmp.Or(o.lost, o.to.Close())
	if o.lost == nil || err != nil && !errors.Is(err, o.lost) {
		return err
	}
	return fmt.Errorf("printing the result: %w: %w", cpar.ErrStorage, o.lost)
}
