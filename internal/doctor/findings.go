// Package doctor collects the findings of a program's self-check.
//
//	OK, Note, Warn, Fail ─▶ List ─▶ Print: one line each, with the remedy
//	                             ─▶ Err:   the first failure, for the exit code
package doctor

import (
	"encoding/json"
	"fmt"
	"io"

	"cpar/internal/sanitize"
)

// A Finding is the result of one check: ok, note, warn or fail, with a remedy.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Says   string `json:"says"`
	Do     string `json:"do,omitempty"`

	err error // cause of a failure, for the exit code
}

type List []Finding

func (l *List) OK(check, says string, args ...any) {
	*l = append(*l, Finding{Check: check, Result: "ok", Says: fmt.Sprintf(says, args...)})
}

// Warn adds a problem that does not stop the program, with its remedy.
func (l *List) Warn(check, do, says string, args ...any) {
	*l = append(*l, Finding{Check: check, Result: "warn", Says: fmt.Sprintf(says, args...), Do: do})
}

// Note adds something that was not checked, with the way to check it.
func (l *List) Note(check, do, says string, args ...any) {
	*l = append(*l, Finding{Check: check, Result: "note", Says: fmt.Sprintf(says, args...), Do: do})
}

func (l *List) Fail(check, do string, err error) {
	*l = append(*l, Finding{Check: check, Result: "fail", Says: sanitize.Text(err.Error()), Do: do, err: err})
}

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

// Err returns the first failure. Warnings do not count.
func (l List) Err() error {
	for _, f := range l {
		if f.err != nil {
			return fmt.Errorf("%s: %w", f.Check, f.err)
		}
	}
	return nil
}
