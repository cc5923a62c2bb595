package eval

import (
	"fmt"
	"maps"
	"slices"

	"cpar/eval/estimate"
)

// Tables implements Result.
func (s *Security) Tables() []Table {
	return []Table{s.ringTable(), s.formatTable(), s.rowTable(), s.millionTable()}
}

func (s *Security) ringTable() Table {
	t := Table{Name: "security", Title: "Bits of security of a ring, ternary secrets and σ = 3.2: estimates, classical / quantum. Core-SVP counts one sieve, the standard (2018) all of BKZ; it gives 128 bits up to the log q in the last column",
		Columns: []string{"N", "log q", "", "block size", "dimension", "core-SVP primal", "core-SVP dual", "standard's models", "standard allows"}}
	for _, r := range s.Rings {
		t.Rows = append(t.Rows, []string{FormatInt(r.N), FormatInt(r.LogQ), ringLabel(r.Ring), FormatInt(r.BlockSize), FormatInt(r.Dimension),
			both(r.Primal), both(r.Dual), both(r.Standard), both(r.Allowed)})
	}
	return t
}

func (s *Security) formatTable() Table {
	t := Table{Name: "security-formats", Title: "Failure of a score, a bound for the worst vectors that are allowed, and bytes by block width D: of the two rings that there are, and of others with the fewest bits of hints that fail at most once in 2⁸⁰",
		Columns: []string{"N", "log q", "", "dim", "norms", "log t", "D", "hint bits", "failure 2^", "hint B a record", "record B", "request kB"}}
	for _, f := range s.Formats {
		t.Rows = append(t.Rows, []string{FormatInt(f.N), FormatInt(f.LogQ), ringLabel(f.Ring), FormatInt(f.Dim), fmt.Sprintf("%g, %g", f.RecordNorm, f.RequestNorm), FormatInt(f.LogT),
			FormatInt(f.Block), FormatInt(f.HintBits), FormatDecimal(f.LogFailure, 0), FormatDecimal(f.HintBytes, 1), FormatDecimal(f.RecordBytes, 0), FormatDecimal(float64(f.RequestBytes)/1e3, 1)})
	}
	return t
}

func (s *Security) rowTable() Table {
	t := Table{Name: "security-rows", Title: "Failure of a score, log₂ of a bound, with C records of 96 numbers in a row, each with its addend as two more, norms of 127, addends of 252, exact replies: by block width and the bits that are kept of hints",
		Columns: []string{"N", "log q", "", "log t", "D", "C"}}
	hints := slices.Sorted(maps.Keys(s.Rows[0].LogFailure))
	for _, h := range hints {
		t.Columns = append(t.Columns, FormatInt(h))
	}
	for _, r := range s.Rows {
		row := []string{FormatInt(r.N), FormatInt(r.LogQ), ringLabel(r.Ring), FormatInt(r.LogT), FormatInt(r.Block), FormatInt(r.InRow)}
		for _, h := range hints {
			row = append(row, FormatDecimal(r.LogFailure[h], 0))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s *Security) millionTable() Table {
	t := Table{Name: "security-million", Title: "A million photos of 96 numbers in rows of C, log t = 15, exact replies: bytes of one request and of what is kept, without headers",
		Columns: []string{"N", "log q", "D", "C", "copies", "hint bits", "failure 2^", "request kB", "reply kB", "both kB", "hints MB", "cloud MB"}}
	for _, c := range s.Million {
		t.Rows = append(t.Rows, []string{FormatInt(c.N), FormatInt(c.LogQ), FormatInt(c.Block), FormatInt(c.RecordsPerRow), FormatDecimal(c.Copies, 2), FormatInt(c.HintBits), FormatDecimal(c.LogFailure, 0),
			FormatDecimal(float64(c.RequestBytes)/1e3, 0), FormatDecimal(c.Reply/1e3, 0), FormatDecimal((float64(c.RequestBytes)+c.Reply)/1e3, 0), FormatDecimal(c.Hints/1e6, 1), FormatDecimal(c.Cloud/1e6, 0)})
	}
	return t
}

// todays says of a ring which of the program's it is.
func ringLabel(r estimate.Ring) string {
	switch slices.Index(ourRings, r) {
	case 0:
		return "in use"
	case 1:
		return "--careful"
	}
	return ""
}

func both(x [2]float64) string { return fmt.Sprintf("%s / %s", FormatDecimal(x[0], 1), FormatDecimal(x[1], 1)) }
