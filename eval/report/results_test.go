package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
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
	tables["machine.txt"] = "a machine\n"
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
	for _, want := range []string{"Measured on: a machine.", "## What 30,000 photos cost", "| `capia`, a scan | | 8.25 ms |", "| `ivf`: inverted file | 10 | 0.125 ms | 66 | not measured |",
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
		"draws-recall.csv": "search,related by,requests\ncapia,one word,50\n",
		"cost.csv":         "search,AP,ms,MB read,visits,of stream speed,speedup,visits allow,memory leaves\ncapia,,10,215,30000,1.1,1,1,\n",
	})
	page, err := renderResults(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| `network`, calibrated | `sealed` | 34.1 (33.2 to 35) | 52 (51.1 to 52.4) | 192 (188 to 195) | 2.4 (2.3 to 2.5) |\n\nPublished",
		"| `paper`, the paper's W_t | `ivf` AP-10 | not measured |", "| capia | one word | 50 |", "22,000 times faster here"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "| in the clear | `capia` |") {
		t.Error("the page has quality twice")
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
	for _, m := range Measurements() {
		for _, v := range m.Commands() {
			if got, err := measuredBy(v.Name); err != nil || got != "`cpar-eval "+v.Name+"`" {
				t.Errorf("%s: %q, %v", v.Name, got, err)
			}
		}
	}
	if _, err := measuredBy("sweep"); err == nil {
		t.Error("sweep is a step, not a command")
	}
}

func TestTransferSizesComeFromTables(t *testing.T) {
	f := &resultFolder{path: "../results"}
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
