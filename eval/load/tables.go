package load

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/durable"
	"cpar/internal/paper"
)

func (l *Load) Tables() []measure.Table {
	t := measure.Table{Name: "load", Title: fmt.Sprintf("Concurrent clients, each with one request at a time, %s s per row", paper.Digits(l.Seconds)),
		Columns: []string{"records", "scheme", "clients", "answers/s", "p50 ms", "p99 ms", "errors", "shed", "memory MB"}}
	for _, r := range l.Rows {
		t.Rows = append(t.Rows, []string{measure.FormatThousands(r.Records), r.Scheme, measure.FormatThousands(r.Clients), paper.Digits(r.Rate), paper.Digits(r.P50), paper.Digits(r.P99),
			measure.FormatThousands(r.Errors), measure.FormatThousands(r.Shed), paper.Digits(r.RSS)})
	}
	others := slices.DeleteFunc([]measure.Table{l.shared(), l.fair(), l.attacks()}, func(t measure.Table) bool { return len(t.Rows) == 0 })
	return append([]measure.Table{t}, others...)
}

// Together, sharingClients clients should reach sharingGoal times the rate of
// one client, because waiting requests share a scan of the index.
const (
	sharingClients = 64
	sharingGoal    = 3
)

func (l *Load) shared() measure.Table {
	t := measure.Table{Name: "load-shared", Title: fmt.Sprintf("Answers per second of capia with %d clients, divided by the rate with one (target: at least %d)", sharingClients, sharingGoal),
		Columns: []string{"records", "one client", fmt.Sprintf("%d clients", sharingClients), "times"}}
	for _, many := range l.Rows {
		for _, one := range l.Rows {
			if many.Scheme == cpar.SchemeCAPIA.String() && one.Scheme == many.Scheme && one.Records == many.Records && many.Clients == sharingClients && one.Clients == 1 && one.Rate > 0 {
				t.Rows = append(t.Rows, []string{measure.FormatThousands(one.Records), paper.Digits(one.Rate), paper.Digits(many.Rate), paper.Digits(measure.RoundTo(many.Rate/one.Rate, 2))})
			}
		}
	}
	return t
}

func (l *Load) fair() measure.Table {
	t := measure.Table{Name: "load-fair", Title: fmt.Sprintf("One client beside %d of another tenant. *Wait* is p50 beside, divided by twice p50 alone (target: at most %d)", crowdClients, fairWait),
		Columns: []string{"records", "scheme", "p50 alone ms", "p99 alone ms", "p50 beside ms", "p99 beside ms", "wait", "the others' answers/s", "errors", "shed"}}
	for _, f := range l.Fair {
		t.Rows = append(t.Rows, []string{measure.FormatThousands(f.Records), f.Scheme, paper.Digits(f.AloneP50), paper.Digits(f.AloneP99), paper.Digits(f.BesideP50), paper.Digits(f.BesideP99),
			paper.Digits(f.Wait), paper.Digits(f.Crowd), measure.FormatThousands(f.Errors), measure.FormatThousands(f.Shed)})
	}
	return t
}

func (l *Load) attacks() measure.Table {
	t := measure.Table{Name: "load-attacks", Title: "Attacks: memory above the idle cloud (at most 64 MB), and the time of another tenant's request (at most 1 s)",
		Columns: []string{"attack", "connections", "memory MB", "20 s later", "answer ms"}}
	for _, a := range l.Attacks {
		t.Rows = append(t.Rows, []string{a.Attack, paper.Digits(float64(a.Connections)), paper.Digits(a.Above), paper.Digits(a.After), paper.Digits(a.Answer)})
	}
	return t
}

func (r Row) String() string {
	s := fmt.Sprintf("%-6s  %6s records  %5s clients  %8s answers/s  p50 %s ms  p99 %s ms  %s MB", r.Scheme, measure.FormatThousands(r.Records), measure.FormatThousands(r.Clients), paper.Digits(r.Rate), paper.Digits(r.P50), paper.Digits(r.P99), paper.Digits(r.RSS))
	if r.Shed > 0 {
		s += fmt.Sprintf("  %s shed", measure.FormatThousands(r.Shed))
	}
	if r.Errors > 0 {
		s += fmt.Sprintf("  %s errors: %v", measure.FormatThousands(r.Errors), r.First)
	}
	return s
}

const page = `# A cloud under load

A command writes this page. It starts a real ` + "`cpard`" + ` on loopback, pushes indexes to it (of %s photos of Corel-5k, and of records
mixed from their features) and sends requests over many connections at once.

    go run ./cmd/cpar-eval load --data ../shared/data/corel5k --docs docs/cloud.md

Measured on %s, on a machine with %s. The clients share its cores with the cloud.

Every answer is compared, byte for byte, with the answer that the same request got when it was sent alone. *Shed* are requests that were refused
because the cloud was overloaded (503 with Retry-After, which the client obeyed). *Errors* are all other answers that were incomplete or wrong. Times are measured for correct answers, from the first byte sent to the last byte received. Requests in flight when the measurement of a row ended are not counted. *Memory* is the maximum anonymous memory of the process. It excludes mapped files, which the system may drop.
`

// WritePage writes the tables as a Markdown page. It adds the table of a soak
// test if file `soak` exists.
func (l *Load) WritePage(file, soak string, date time.Time) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, page, measure.FormatThousands(l.Photos), date.UTC().Format("2 January 2006"), l.Machine)
	tables := l.Tables()
	if t, err := soakTable(soak); err == nil {
		tables = append(tables, t)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.WriteString(measure.Markdown(tables...))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w: %w", file, cpar.ErrStorage, err)
	}
	return durable.WriteFile(file, b.Bytes(), 0o644)
}

const soakRows = 10

func soakTable(file string) (t measure.Table, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) < 2 {
		return t, fmt.Errorf("reading %s: %w: no figures of a soak (%v)", file, cpar.ErrInput, err)
	}
	last := len(rows) - 1
	t = measure.Table{Name: "soak", Title: fmt.Sprintf("%s minutes of moderate load: annotations of three schemes, pushes, deletions, and clients that misbehave", rows[last][0]), Columns: rows[0]}
	for k := range min(soakRows, last) {
		t.Rows = append(t.Rows, rows[1+k*(last-1)/max(1, min(soakRows, last)-1)])
	}
	return t, nil
}
