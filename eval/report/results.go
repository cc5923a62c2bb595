package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"text/template"

	"cpar"
	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/internal/durable"
	"cpar/internal/humanfmt"
	"cpar/internal/paper"
)

//go:embed results.tmpl
var resultsSource string

// WriteResults writes a Markdown page to `file`. It reads the tables and plots
// that Write left in the folder at `path`, and links to that folder. It also
// writes figures between the markers of the pages `marked`.
func WriteResults(path, file string, marked ...string) error {
	link, err := between(filepath.Dir(file), path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	page, err := renderResults(path, link)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w: %w", file, cpar.ErrStorage, err)
	}
	if err := durable.WriteFile(file, page, 0o644); err != nil {
		return err
	}
	for _, name := range marked {
		if err := fillFile(path, name); err != nil {
			return fmt.Errorf("writing figures into %s: %w", name, err)
		}
	}
	return nil
}

func between(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	way, err := filepath.Rel(from, to)
	return filepath.ToSlash(way), err
}

// renderResults returns the page. `link` is the path from the page to the
// folder.
func renderResults(path, link string) ([]byte, error) {
	f := &resultFolder{path, link}
	if !f.have(stepsName) {
		return nil, fmt.Errorf("%w: %s holds no results: it has no %s.csv; write it with cpar-eval all", cpar.ErrInput, path, stepsName)
	}
	t, err := template.New("results").Funcs(f.functions()).Funcs(template.FuncMap{
		"measurements": Measurements, "record": f.record, "steps": f.steps,
	}).Parse(resultsSource)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = t.Execute(&page, paper.Values())
	return page.Bytes(), err
}

func (f *resultFolder) functions() template.FuncMap {
	return template.FuncMap{
		"by": func(command string) string { return "`cpar-eval " + command + "`" }, "cell": f.cell, "csv": f.markdown, "expected": ExpectedMinutes, "have": f.have, "home": f.transferSizes, "interval": f.interval,
		"link": func() string { return f.link }, "over": func(a, b float64) string { return humanfmt.Digits(a / b) }, "plot": f.plot, "scheme": schemeName, "span": f.span,
		"thousands": thousands, "times": f.times, "words": func(x ...string) []string { return x },
	}
}

func ExpectedMinutes() (sum float64) {
	for _, m := range Measurements() {
		sum += m.Minutes
	}
	return math.Ceil(sum)
}

// times returns seconds divided by the milliseconds in a cell, with two
// significant digits.
func (f *resultFolder) times(seconds float64, table, column string, where ...string) (string, error) {
	x, err := f.numbers(table, column, where)
	if err != nil || len(x) != 1 {
		return notMeasured, err
	}
	ratio := seconds * 1e3 / x[0]
	unit := math.Pow10(int(math.Floor(math.Log10(ratio))) - 1)
	return thousands(int(math.Round(ratio/unit) * unit)), nil
}

func schemeName(search string) string {
	name := map[string]string{"plain": "in the clear", "cpar@10": "`cpar` AP-10, Algorithm 1", "cpar-rank@10": "`cpar` AP-10, by rank", "ivf@10": "`ivf` AP-10"}[search]
	return cmp.Or(name, "`"+search+"`")
}

// thousands formats 20000 as 20,000. It leaves other values unchanged.
func thousands(x any) string {
	s := fmt.Sprint(x)
	if n, err := strconv.Atoi(s); err == nil {
		return measure.FormatThousands(n)
	}
	return s
}

// plot returns the Markdown for a plot, or "" if there is no such plot.
func (f *resultFolder) plot(name, what string) string {
	file := plotsName + "/" + name + ".svg"
	if _, err := os.Stat(filepath.Join(f.path, filepath.FromSlash(file))); err != nil {
		return ""
	}
	return fmt.Sprintf("![%s](%s/%s)", what, f.link, file)
}

type transferComparison struct {
	Profile string
	Dim     int
	cost.TransferSizes
}

// transferSizes returns the sizes for the first of the given profiles that was
// measured, or nil. Sizes per record come from the largest index.
func (f *resultFolder) transferSizes(profiles ...string) (*transferComparison, error) {
	var bad error
	last := func(table, column string, where ...string) float64 {
		x, err := f.numbers(table, column, where)
		if bad = errors.Join(bad, err); len(x) == 0 {
			return 0
		}
		return x[len(x)-1]
	}
	for _, profile := range profiles {
		dim := int(last("profiles", "dimensions", "profile", profile, "ranker", "calibrated", "scheme", "sealed"))
		n := last("profile-growth", "n")
		if dim == 0 || n == 0 {
			continue
		}
		keywords := 1e6 * last("profile-growth", "keywords MB") / n
		return &transferComparison{profile, dim, cost.TransferSizes{
			Profile: 1e6 * last("profile-cost", "of it profile MB", "profile", profile, "scheme", "sealed"),
			Request: last("profile-cost", "request B", "profile", profile, "scheme", "sealed"),
			Reply:   1e3 * last("profile-growth", "reply kB") / n,
			Sealed:  1e6*last("profile-growth", "hints MB")/n + keywords,
			Local:   cost.LocalVectorBytes(dim) + keywords,
		}}, bad
	}
	return nil, bad
}
