// Package hint attaches advice for the user to an error. An error describes the
// failure, and its hint describes the next step on a separate line:
//
//	cpar: error: segment vectors 3f2a…: damaged data: its content does not match its digest
//	hint: build or push the index again
package hint

import (
	"errors"
	"fmt"
)

// Rebuild is the advice for an index of another version.
const Rebuild = "build the index again with this program (cpar build COLLECTION --out FOLDER.index --replace), and push it"

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Add returns err with a hint. An existing hint takes precedence, because it is
// closer to the cause.
func Add(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

type kinded struct {
	error
	kind error
}

func (k kinded) Unwrap() []error { return []error{k.error, k.kind} }

// Kind marks err as a kind of error, such as cpar.ErrKey, and keeps its text.
func Kind(err, kind error) error {
	if err == nil {
		return nil
	}
	return kinded{err, kind}
}

// Of returns the innermost hint of err, or "".
func Of(err error) string {
	var found string
	for h := new(hinted); errors.As(err, &h); err = h.error {
		found = h.hint
	}
	return found
}
