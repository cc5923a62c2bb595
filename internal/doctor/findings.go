// Package findings is what a doctor finds, in the same form for every program.
//
//	OK, Warn, Fail ─▶ List ─▶ Print: one line each, and what to do
//	                       ─▶ Err:   the first failure, for the exit code
package doctor

import (
	"encoding/json"
	"fmt"
	"io"

	"cpar/internal/sanitize"
)

// A Finding is one line: ok, warn or fail, and what to do.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Says   string `json:"says"`
	Do     string `json:"do,omitempty"`

	err error // of a fail, for the exit code
}

// A List collects them in order.
type List []Finding

// OK says that a check found nothing wrong.
func (l *List) OK(check, says string, args ...any) {
	*l = append(*l, Finding{Check: check, Result: "ok", Says: fmt.Sprintf(says, args...)})
}

// Warn says what should be otherwise, and what to do.
func (l *List) Warn(check, do, says string, args ...any) {
	*l = append(*l, Finding{Check: check, Result: "warn", Says: fmt.Sprintf(says, args...), Do: do})
}

// Fail says what does not work, and what to do.
func (l *List) Fail(check, do string, err error) {
	*l = append(*l, Finding{Check: check, Result: "fail", Says: sanitize.Text(err.Error()), Do: do, err: err})
}

// Print writes the list, as text or JSON.
func (l List) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		if l == nil {
			l = List{}
		}
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(l)
	}
	width := len("network")
	for _, f := range l {
		width = max(width, len(f.Check))
	}
	for _, f := range l {
		if _, err := fmt.Fprintf(w, "%-4s  %-*s  %s\n", f.Result, width, f.Check, f.Says); err != nil {
			return err
		}
		if f.Do != "" {
			if _, err := fmt.Fprintf(w, "%*s%s\n", 4+2+width+2, "", f.Do); err != nil {
				return err
			}
		}
	}
	return nil
}

// Err is the first failure; nil if there is none. A warning is none.
func (l List) Err() error {
	for _, f := range l {
		if f.err != nil {
			return fmt.Errorf("%s: %w", f.Check, f.err)
		}
	}
	return nil
}
