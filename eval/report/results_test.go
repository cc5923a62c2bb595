package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/eval/measure"
	"cpar/eval/memory"
)

func TestResultsPageMatchesCommittedTables(t *testing.T) {
	want, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := renderResults("../results", "../eval/results")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/results.md differs from what is written from eval/results: go run ./cmd/cpar-eval results --from eval/results --out docs/results.md")
	}
	if i := strings.Index(strings.ToLower(string(got)), notMeasured); i >= 0 {
		t.Errorf("something is missing: %s", got[max(0, i-200):i])
	}
}

func tablesOf(t *testing.T, tables map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	tables["steps.csv"] = "step,seconds,commit,machine\ncost,90,c1,m1\n"
	for name, text := range tables {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A missing folder, or a table with other columns, is an error.
func TestResultsPageNamesMissingTables(t *testing.T) {
	columns := "search,AP,ms,MB read,visits,of stream speed,speedup,visits allow,memory leaves\n"
	dir := tablesOf(t, map[string]string{"cost.csv": columns + "capia,,8.25,215,30000,1.1,1,1,\nivf@10,10,0.125,1,3000,1,66,2,\n"})
	file := filepath.Join(t.TempDir(), "new", "page.md")
	if err := WriteResults(dir, file); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"on one machine: m1.", "## What 30,000 photos cost", "| `capia`, a scan | | 8.25 ms |", "| `ivf`: inverted file | 10 | 0.125 ms | 66 | not measured |",
		"| `cpar`: forest by rank | 10 | not measured ms |", "Not measured: `cpar-eval flann`."} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(b), "![") {
		t.Error("the page shows a missing plot")
	}
	if err := WriteResults(t.TempDir(), file); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("an empty folder: %v", err)
	}
	dir = tablesOf(t, map[string]string{"cost.csv": strings.Replace(columns, ",ms,", ",milliseconds,", 1) + "capia,,8.25,215,30000,1.1,1,1,\n"})
	if err := WriteResults(dir, file); err == nil || !strings.Contains(err.Error(), `table cost has no column "ms"`) {
		t.Errorf("a column of another name: %v", err)
	}
}

func TestResultsPagePrefersDraws(t *testing.T) {
	columns := "profile,ranker,scheme,P %,low,high,R %,low,high,N+,low,high,words found,low,high\n"
	dir := tablesOf(t, map[string]string{
		"draws.csv":        columns + "network,calibrated,sealed,34.1,33.2,35,52,51.1,52.4,192,188,195,2.4,2.3,2.5\n",
		"draws-recall.csv": "search,related by,requests,recall %,low,high,% of capia's,low,high\ncapia,one word,499,44.4,43.5,46.2,100,100,100\ncapia,one word,50,64,54,73,100,100,100\n",
		"cost.csv":         "search,AP,ms,MB read,visits,of stream speed,speedup,visits allow,memory leaves\ncapia,,10,215,30000,1.1,1,1,\n",
	})
	page, err := renderResults(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| `network`, calibrated | `sealed` | 34.1 (33.2 to 35) | 52 (51.1 to 52.4) | 192 (188 to 195) | 2.4 (2.3 to 2.5) |\n\nPublished",
		"| `paper`, the paper's W_t | `ivf` AP-10 | not measured |", "| capia | one word | 50 |", "recall here is 44.4 (43.5 to 46.2) % and not measured %", "22,000 times faster here"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "| in the clear | `capia` |") {
		t.Error("the page has quality twice")
	}
}

// Figures between markers come from the tables. A wrong figure is replaced.
func TestDocumentsMatchTables(t *testing.T) {
	for name, least := range map[string]int{"README.md": 5, "CHANGELOG.md": 0, "CONTRIBUTING.md": 1, "docs/research.md": 8} {
		want, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fillFigures("../results", want)
		if err != nil || string(got) != string(want) || bytes.Contains(got, []byte(notMeasured)) {
			t.Errorf("figures in %s differ from eval/results (%v): go run ./cmd/cpar-eval results --fill %s", name, err, name)
		}
		if n := len(marker.FindAll(want, -1)); n < least || n != bytes.Count(want, []byte("<!--/-->")) {
			t.Errorf("%s has %d figures between markers", name, n)
		}
		wrong := marker.ReplaceAll(want, []byte("<!--=$1-->8,888<!--/-->"))
		if got, err := fillFigures("../results", wrong); err != nil || string(got) != string(want) {
			t.Errorf("%s: wrong figures stay (%v)", name, err)
		}
	}
	if _, err := fillFigures("../results", []byte("<!--=none-->1<!--/-->")); err == nil {
		t.Error("an unknown figure was filled")
	}
}

// A page whose tables come from several commits or machines is refused.
func TestResultsPageRefusesForeignSteps(t *testing.T) {
	here := checkpoint.Origin{Program: "p", Commit: "c1", Machine: "m1"}
	r := &measure.Results{Steps: []checkpoint.Record{{Name: "cost", Origin: here, Seconds: 90}, {Name: "pca", Origin: here, Seconds: 30}}}
	folder, page := t.TempDir(), filepath.Join(t.TempDir(), "page.md")
	write := func() error {
		if _, err := Write(folder, r); err != nil {
			t.Fatal(err)
		}
		return WriteResults(folder, page)
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(b), "All steps were measured at commit c1, on one machine: m1.") || !strings.Contains(string(b), "The steps took 2 minutes.") || !strings.Contains(string(b), "| pca | 30 |") {
		t.Errorf("%v, %s", err, b)
	}
	// A table of memory needs the record of its step.
	r.Steps, r.Each = append(r.Steps, checkpoint.Record{Name: "memory", Origin: here}), []measure.Result{&memory.Result{Rows: []memory.Row{{Name: "build", Photos: 1000, PeakMB: 90}}}}
	if err := write(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "| build | 1,000 | 90 |") {
		t.Errorf("%v, %s", err, b)
	}
	r.Steps = r.Steps[:2]
	if err := write(); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "memory.csv") {
		t.Errorf("a table of memory without a record: %v", err)
	}
	r.Each = nil
	if err := write(); err != nil {
		t.Error(err)
	}
	if b, err = os.ReadFile(page); err != nil || strings.Contains(string(b), "## Memory") {
		t.Errorf("%v, %s", err, b)
	}
	for _, foreign := range []checkpoint.Origin{{Program: "p", Commit: "c2", Machine: "m1"}, {Program: "p", Commit: "c1", Machine: "m2"}} {
		r.Steps[1].Origin = foreign
		if err := CheckOrigin(r.Steps); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("steps of %v were accepted: %v", foreign, err)
		}
		if err := write(); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "step pca at commit "+foreign.Commit+" on "+foreign.Machine) {
			t.Errorf("a page with a step of %v: %v", foreign, err)
		}
	}
	if err := os.Remove(filepath.Join(folder, stepsName+".csv")); err != nil {
		t.Fatal(err)
	}
	if err := WriteResults(folder, page); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a page without a record of steps: %v", err)
	}
	if after, err := os.ReadFile(page); err != nil || string(after) != string(b) {
		t.Errorf("a refused page was written (%v)", err)
	}
}

// A table of an earlier run, which may have another origin, does not stay.
func TestWriteRemovesStaleTables(t *testing.T) {
	folder := t.TempDir()
	mine := filepath.Join(folder, "mine.csv")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*measure.Results{{}, {Each: []measure.Result{new(novel)}}} {
		if _, err := Write(folder, r); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(mine); err != nil != (len(r.Each) > 0) {
			t.Errorf("with %d results, a file that Write did not write: %v", len(r.Each), err)
		}
	}
	if _, err := Write(folder, &measure.Results{}); err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob(filepath.Join(folder, "*", "*")); err != nil || len(names) > 0 {
		t.Errorf("the folder keeps %v, %v", names, err)
	}
}

func TestFolder(t *testing.T) {
	f := &resultFolder{path: tablesOf(t, map[string]string{"x.csv": "a,b,value,low,high\n1,p,0.30,0.1,0.5\n2,p,10,9,11\n2,q,9,8,10\n", "bad.csv": "a\nb,c\n", "words.csv": "a\nword\n"})}
	for _, c := range []struct {
		what      string
		get       func(table, column string, where ...string) (string, error)
		table     string
		where     []string
		want, bad string
	}{
		{"cell", f.cell, "x", []string{"a", "2", "b", "q"}, "9", ""},
		{"cell as it is", f.cell, "x", []string{"a", "1"}, "0.30", ""},
		{"cell of two rows", f.cell, "x", []string{"a", "2"}, "", "2 rows"},
		{"cell of none", f.cell, "x", []string{"a", "3"}, notMeasured, ""},
		{"cell of no table", f.cell, "y", nil, notMeasured, ""},
		{"cell by no column", f.cell, "x", []string{"c", "3"}, "", `no column "c"`},
		{"cell of no table that can be read", f.cell, "bad", nil, "", "damaged"},
		{"interval", f.interval, "x", []string{"b", "q"}, "9 (8 to 10)", ""},
		{"interval of none", f.interval, "x", []string{"b", "r"}, notMeasured, ""},
		{"interval without ends", func(table, _ string, where ...string) (string, error) { return f.interval(table, "low", where...) }, "x", []string{"a", "1"}, "", "followed by 2 others"},
		{"span", f.span, "x", nil, "0.3 to 10", ""},
		{"span of numbers, not of words", f.span, "x", []string{"a", "2"}, "9 to 10", ""},
		{"span of one", f.span, "x", []string{"b", "q"}, "9", ""},
		{"span of none", f.span, "y", nil, notMeasured, ""},
	} {
		got, err := c.get(c.table, "value", c.where...)
		if c.bad == "" && (err != nil || got != c.want) || c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("%s: %q, %v; want %q%s", c.what, got, err, c.want, c.bad)
		}
	}
	if _, err := f.span("words", "a"); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("the span of a word: %v", err)
	}
	if got, err := f.markdown("x", "a", "1"); err != nil || got != "| a | b | value | low | high |\n|---|---|---|---|---|\n| 1 | p | 0.30 | 0.1 | 0.5 |\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestResultsNameCommands(t *testing.T) {
	known := map[string]bool{}
	for _, m := range Measurements() {
		for _, v := range m.Commands() {
			known[v.Name] = true
		}
	}
	named := regexp.MustCompile(`{{by "([^"]*)"}}`).FindAllStringSubmatch(resultsSource, -1)
	for _, command := range named {
		if !known[command[1]] {
			t.Errorf("there is no cpar-eval %s", command[1])
		}
	}
	if len(named) < 20 || known["sweep"] {
		t.Errorf("the page names %d commands of %v", len(named), known)
	}
}

func TestTransferSizesComeFromTables(t *testing.T) {
	f := &resultFolder{path: tablesOf(t, map[string]string{
		"profiles.csv":       "profile,ranker,scheme,dimensions\nnetwork,calibrated,sealed,96\nnetwork,calibrated,capia,99\n",
		"profile-cost.csv":   "profile,scheme,of it profile MB,request B\nnetwork,sealed,1.14,98344\n",
		"profile-growth.csv": "n,hints MB,keywords MB,reply kB\n20000,2.7,1.8,68\n1000000,136.4,92,3375\n",
	})}
	h, err := f.transferSizes("none", "network")
	if err != nil || h == nil || h.Profile != "network" || h.Dim != 96 {
		t.Fatalf("%+v, %v", h, err)
	}
	// For 10,000 records: 201 bytes per vector of local, 136.4 of hints, a
	// request of 98,344 bytes and a reply of 33,750. 646,000 / 132,094 is 4.89.
	if got := h.Crossing(10000); got != 5 {
		t.Errorf("local moves less from %d requests on", got)
	}
	if h, err := f.transferSizes("none"); h != nil || err != nil {
		t.Errorf("of no profile: %+v, %v", h, err)
	}
}
