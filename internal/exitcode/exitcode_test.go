package exitcode

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func TestCodes(t *testing.T) {
	for err, want := range map[error]int{
		nil:                                                  0,
		errors.New("x"):                                      1,
		UsageError(cpar.ErrInput):                            2,
		fmt.Errorf("a: %w", cpar.ErrInput):                   3,
		fmt.Errorf("a: %w", cpar.ErrKey):                     4,
		fmt.Errorf("a: %w", cpar.ErrCorrupt):                 5,
		fmt.Errorf("a: %w", cpar.ErrVersion):                 6,
		fmt.Errorf("a: %w", cpar.ErrCloud):                   7,
		fmt.Errorf("a: %w", cpar.ErrStorage):                 8,
		fmt.Errorf("%w: %w", cpar.ErrCloud, cpar.ErrStorage): 8,
		fmt.Errorf("%w: %w", ErrInterrupted, cpar.ErrCloud):  130,
	} {
		if got := Of(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
	if UsageError(nil) != nil {
		t.Error("a usage error from nil")
	}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	code := Report(&b, "cpard", fmt.Errorf("opening x: %w", hint.Add(cpar.ErrCorrupt, "push it again")))
	if want := "cpard: error: opening x: damaged data\nhint: push it again\n"; b.String() != want || code != Corrupt {
		t.Errorf("printed %q, code %d; want %q, code %d", b.String(), code, want, Corrupt)
	}
	b.Reset()
	Report(&b, "cpar", hint.Add(errors.New("open a\x1b[31m\xff.jpg: no such file\nand another"), "try\x07 again"))
	if want := "cpar: error: open a\\x1b[31m\\xff.jpg: no such file\nand another\nhint: try\\a again\n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
	b.Reset()
	code = Report(&b, "cpar", hint.Add(Partly("1 of 2 photos", cpar.ErrInput), "look at it"))
	if want := "cpar: 1 of 2 photos\nhint: look at it\n"; b.String() != want || code != Input {
		t.Errorf("printed %q, code %d; want %q, code %d", b.String(), code, want, Input)
	}
	b.Reset()
	if Report(&b, "cpard", nil) != 0 || b.Len() != 0 {
		t.Errorf("nil printed %q", b.String())
	}
}

func TestTable(t *testing.T) {
	rows := map[int]bool{}
	last := -1
	for _, c := range All() {
		if c.Code <= last || c.Name == "" || c.Says == "" {
			t.Errorf("row %+v after %d", c, last)
		}
		last = c.Code
		rows[c.Code] = true
		if want := fmt.Sprintf("%d %s", c.Code, c.Name); !strings.Contains(strings.ReplaceAll(Line(), "\n", " "), want) {
			t.Errorf("%q does not say %q", Line(), want)
		}
	}
	for _, c := range codes {
		if !rows[c.code] {
			t.Errorf("code %d has no row", c.code)
		}
	}
	if got, want := Line(OK, Storage), "Exit codes: 0 done, 8 storage failure."; got != want {
		t.Errorf("some of them: %q, want %q", got, want)
	}
	for line := range strings.Lines(Line()) {
		if len(line) > 81 {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
	}
}
