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
		t.Rows = append(t.Rows, []string{whole(r.N), whole(r.LogQ), todays(r.Ring), whole(r.BlockSize), whole(r.Dimension),
			both(r.Primal), both(r.Dual), both(r.Standard), both(r.Allowed)})
	}
	return t
}

func (s *Security) formatTable() Table {
	t := Table{Name: "security-formats", Title: "Failure of a score, a bound for the worst vectors that are allowed, and bytes by block width D: of the two rings that there are, and of others with the fewest bits of hints that fail at most once in 2⁸⁰",
		Columns: []string{"N", "log q", "", "dim", "norms", "log t", "D", "hint bits", "failure 2^", "hint B a record", "record B", "request kB"}}
	for _, f := range s.Formats {
		t.Rows = append(t.Rows, []string{whole(f.N), whole(f.LogQ), todays(f.Ring), whole(f.Dim), fmt.Sprintf("%g, %g", f.RecordNorm, f.RequestNorm), whole(f.LogT),
			whole(f.Block), whole(f.HintBits), num(f.LogFailure, 0), num(f.HintBytes, 1), num(f.RecordBytes, 0), num(float64(f.RequestBytes)/1e3, 1)})
	}
	return t
}

func (s *Security) rowTable() Table {
	t := Table{Name: "security-rows", Title: "Failure of a score, log₂ of a bound, with C records of 96 numbers in a row, each with its addend as two more, norms of 127, addends of 252, exact replies: by block width and the bits that are kept of hints",
		Columns: []string{"N", "log q", "", "log t", "D", "C"}}
	hints := slices.Sorted(maps.Keys(s.Rows[0].LogFailure))
	for _, h := range hints {
		t.Columns = append(t.Columns, whole(h))
	}
	for _, r := range s.Rows {
		row := []string{whole(r.N), whole(r.LogQ), todays(r.Ring), whole(r.LogT), whole(r.Block), whole(r.InRow)}
		for _, h := range hints {
			row = append(row, num(r.LogFailure[h], 0))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s *Security) millionTable() Table {
	t := Table{Name: "security-million", Title: "A million photos of 96 numbers in rows of C, log t = 15, exact replies: bytes of one request and of what is kept, without headers",
		Columns: []string{"N", "log q", "D", "C", "copies", "hint bits", "failure 2^", "request kB", "reply kB", "both kB", "hints MB", "cloud MB"}}
	for _, c := range s.Million {
		t.Rows = append(t.Rows, []string{whole(c.N), whole(c.LogQ), whole(c.Block), whole(c.InRow), num(c.Copies, 2), whole(c.HintBits), num(c.LogFailure, 0),
			num(float64(c.RequestBytes)/1e3, 0), num(c.Reply/1e3, 0), num((float64(c.RequestBytes)+c.Reply)/1e3, 0), num(c.Hints/1e6, 1), num(c.Cloud/1e6, 0)})
	}
	return t
}

// todays says of a ring which of the program's it is.
func todays(r estimate.Ring) string {
	switch slices.Index(ourRings, r) {
	case 0:
		return "in use"
	case 1:
		return "--careful"
	}
	return ""
}

func both(x [2]float64) string { return fmt.Sprintf("%s / %s", num(x[0], 1), num(x[1], 1)) }
