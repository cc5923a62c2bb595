package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar/internal/testing/oracle"
)

// A limit bounds one figure of the module. A commit that needs more must raise
// the limit and change the reason.
type limit struct {
	what     string
	min, max float64
	reason   string
	// measure returns the figure and the files with the worst figures, worst
	// first.
	measure func(t *testing.T) (figure float64, worst []string)
}

var limits = []limit{
	{"lines of README.md", 1, 103, "a visitor reads it in one sitting: 100, and 3 for the album", lines("README.md")},
	{"words of README.md", 1, 1100, "a visitor reads it in five minutes: 1,000, 50 for the album, and 50 for search by words and other persons", words("README.md")},
	{"lines of SECURITY.md", 1, 150, "everybody who trusts cpar should finish it", lines("SECURITY.md")},
	{"lines of CHANGELOG.md", 1, 60, "it tells users what changed, not how", lines("CHANGELOG.md")},
	{"lines of docs/ARCHITECTURE.md", 1, 1000, "newcomers need a map", lines("docs/ARCHITECTURE.md")},
	{"entries of the root", 1, 30, "the listing fits on a screen", rootEntries},
	{"lines of user/", 1, 31_000, "code that handles keys stays small enough to audit: 22,000, then 1,500 for review by word, a vocabulary and its page and watch, 4,200 for the album: repository, catalogue, queries and repair, and 3,300 for its page, thumbnails and the search by words", goLines("user/")},
	{"lines of the module", 1, 142_450, "one person should know it: 112,000, then 2,300 for own words, sets of networks, bounds for strangers and trust in cards and keys, 7,000 for review by word, a vocabulary and its page, watch, videos and releases, 800 for one comment per field, 9,500 for the album and the blobs of a server, 4,800 for search by words and the album's page, 2,300 for arm64, 1,700 for search by likeness, limits of memory, larger batches with AVX2 and the page of results, and 2,050 for transformed and depthwise convolutions, images without discarded columns, tiles of pairs, sparing fits, measurements of memory and of batches and a stand-in for gRPC", goLines("")},
	{"99th percentile of function lengths", 1, 55, "a function fits on a screen", functionLength(0.99)},
	{"longest function", 1, 110, "a table may take two screens", functionLength(1)},
	{"percent of lines with a comment", 12, 18, "reasons are written down and code is not repeated", commentShare},
	{"packages that cpar links", 1, 740, "the owner's program links no daemon: 500, and 240 that kopia's repository links, such as clients of storages", linkedPackages},
	{"forbidden packages that cpar links", 0, 0, "storage and brokers belong to the daemon", forbiddenPackages},
	{"bytes of cpar, stripped", 1, 36_300_000, "a download of 36 seconds at 8 Mbit/s, without unused methods: no package may call methods by name, as text/template does", binarySize},
}

func TestLimits(t *testing.T) {
	for _, l := range limits {
		t.Run(strings.ReplaceAll(l.what, "/", "_"), func(t *testing.T) {
			got, worst := l.measure(t)
			if got < l.min || got > l.max {
				t.Errorf("%s: %.1f, want %g to %g (%s)\n\t%s", l.what, got, l.min, l.max, l.reason, strings.Join(worst[:min(10, len(worst))], "\n\t"))
			}
		})
	}
}

func lines(name string) func(*testing.T) (float64, []string) {
	return ofFile(name, func(b []byte) int { return bytes.Count(b, []byte("\n")) })
}

func words(name string) func(*testing.T) (float64, []string) {
	return ofFile(name, func(b []byte) int { return len(bytes.Fields(b)) })
}

func ofFile(name string, count func([]byte) int) func(*testing.T) (float64, []string) {
	return func(t *testing.T) (float64, []string) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return float64(count(b)), []string{name}
	}
}

func rootEntries(t *testing.T) (float64, []string) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	// Ignore cpar-demo.html, which the first command in README.md writes here
	// before the second runs this test.
	ignored := func(name string) bool {
		return slices.ContainsFunc(strings.Fields(string(ignore)), func(pattern string) bool {
			match, _ := filepath.Match(strings.Trim(pattern, "/"), name)
			return match
		})
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !ignored(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return float64(len(names)), []string{strings.Join(names, " ")}
}

// A goFile holds the figures of one Go file that is neither a test nor
// generated.
type goFile struct {
	name                     string
	lines, filled, commented int
	functions                []function
}

type function struct {
	where string
	lines int
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

var productFiles = sync.OnceValues(func() (files []goFile, err error) {
	err = fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || d.Name() == "results"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil || generated.Match(b) {
			return err
		}
		f, err := measureFile(name, b)
		files = append(files, f)
		return err
	})
	return files, err
})

func measureFile(name string, b []byte) (goFile, error) {
	f := goFile{name: name, lines: bytes.Count(b, []byte("\n"))}
	for line := range bytes.Lines(b) {
		if len(bytes.TrimSpace(line)) > 0 {
			f.filled++
		}
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, b, parser.SkipObjectResolution)
	if err != nil {
		return f, err
	}
	line := func(p token.Pos) int { return fset.Position(p).Line }
	for _, d := range parsed.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.functions = append(f.functions, function{fmt.Sprintf("%s:%d %s", name, line(fn.Pos()), fn.Name.Name), line(fn.End()) - line(fn.Pos()) + 1})
		}
	}
	with := map[int]bool{}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(name, -1, len(b))
	s.Init(file, b, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.COMMENT && !strings.HasPrefix(text, "//go:") {
			for k := range strings.Count(text, "\n") + 1 {
				with[file.Line(pos)+k] = true
			}
		}
	}
	f.commented = len(with)
	return f, nil
}

func product(t *testing.T) []goFile {
	t.Helper()
	files, err := productFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func goLines(folder string) func(*testing.T) (float64, []string) {
	return func(t *testing.T) (float64, []string) {
		var in []goFile
		sum := 0
		for _, f := range product(t) {
			if strings.HasPrefix(f.name, folder) {
				in, sum = append(in, f), sum+f.lines
			}
		}
		slices.SortFunc(in, func(a, b goFile) int { return cmp.Compare(b.lines, a.lines) })
		return float64(sum), describe(in, func(f goFile) string { return fmt.Sprintf("%s: %d lines", f.name, f.lines) })
	}
}

func functionLength(quantile float64) func(*testing.T) (float64, []string) {
	return func(t *testing.T) (float64, []string) {
		var all []function
		for _, f := range product(t) {
			all = append(all, f.functions...)
		}
		slices.SortFunc(all, func(a, b function) int { return cmp.Compare(b.lines, a.lines) })
		at := int((1 - quantile) * float64(len(all)))
		return float64(all[at].lines), describe(all, func(f function) string { return fmt.Sprintf("%s: %d lines", f.where, f.lines) })
	}
}

// commentShare returns the percentage of non-blank lines that hold a comment,
// and names the files that have the most comment lines above the limit or the
// fewest below it.
func commentShare(t *testing.T) (float64, []string) {
	filled, with := 0, 0
	files := slices.Clone(product(t))
	for _, f := range files {
		filled += f.filled
		with += f.commented
	}
	share := 100 * float64(with) / float64(filled)
	excess := func(f goFile) float64 { return float64(f.commented) - 0.15*float64(f.filled) }
	slices.SortFunc(files, func(a, b goFile) int {
		if share < 15 {
			return cmp.Compare(excess(a), excess(b))
		}
		return cmp.Compare(excess(b), excess(a))
	})
	return share, describe(files, func(f goFile) string {
		return fmt.Sprintf("%s: %d of %d lines", f.name, f.commented, f.filled)
	})
}

func describe[T any](all []T, text func(T) string) []string {
	var out []string
	for _, x := range all[:min(10, len(all))] {
		out = append(out, text(x))
	}
	return out
}

// daemonOnly lists the modules and packages that cpar must not link. It omits
// the clients of Azure and Prometheus, which kopia's repository links. kopia's
// upload and command line are listed because they run other programs.
var daemonOnly = []string{
	"github.com/aws", "github.com/nats-io",
	module + "/cloud/daemon", module + "/cloud/cluster", module + "/cloud/blob",
	"github.com/kopia/kopia/snapshot/upload", "github.com/kopia/kopia/cli",
}

func cparLinks(t *testing.T) []string {
	t.Helper()
	needGo(t)
	out, err := exec.Command("go", "list", "-deps", "./cmd/cpar").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func linkedPackages(t *testing.T) (float64, []string) {
	all := cparLinks(t)
	groups := map[string]int{}
	for _, pkg := range all {
		parts := strings.SplitN(pkg, "/", 4)
		groups[strings.Join(parts[:min(3, len(parts))], "/")]++
	}
	names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return cmp.Compare(groups[b], groups[a]) })
	return float64(len(all)), describe(names, func(n string) string { return fmt.Sprintf("%s: %d packages", n, groups[n]) })
}

func forbiddenPackages(t *testing.T) (float64, []string) {
	in := below(daemonOnly...)
	bad := slices.DeleteFunc(cparLinks(t), func(pkg string) bool { return !in(pkg) })
	return float64(len(bad)), bad
}

func binarySize(t *testing.T) (float64, []string) {
	if testing.Short() {
		t.Skip("builds cpar")
	}
	needGo(t)
	file := filepath.Join(t.TempDir(), "cpar")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/cpar")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size()), []string{"go tool nm -size -sort size lists what is large"}
}

// maxProse bounds the number of words in comments and documents: 150,000, plus
// 8,000 for review by word, vocabularies, watch, videos and releases, 12,000 to
// gloss terms and describe each field by itself, 11,000 for albums, 13,000 for
// search by words, the album's page and arm64, 3,400 for the tables and figures
// that docs/results.md now shows itself, 1,800 for search by likeness and
// limits of memory, and 3,800 for kernels, fits, measurements of memory and the
// messages of watch, build and demo.
const maxProse = 203_000

// TestProse counts habits that the style guide discourages. The tool is in
// ../shared, beside the checkout.
func TestProse(t *testing.T) {
	tool := oracle.Path(t, "tools/prose")
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CPAR_SHARED") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	out, err := exec.Command(python, tool, "--json", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Words  int                `json:"words"`
		Rates  map[string]float64 `json:"per_1000"`
		Limits map[string]float64 `json:"limits"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Words == 0 || len(got.Limits) == 0 {
		t.Fatalf("the tool counted nothing: %s", out)
	}
	if got.Words > maxProse {
		t.Errorf("%d words of comments and documents, want at most %d", got.Words, maxProse)
	}
	failed := got.Words > maxProse
	for _, habit := range slices.Sorted(maps.Keys(got.Limits)) {
		if rate, ok := got.Rates[habit]; !ok || rate > got.Limits[habit] {
			t.Errorf("%q: %.2f per 1,000 words, want at most %.2f", habit, rate, got.Limits[habit])
			failed = true
		}
	}
	if failed {
		places, _ := exec.Command(python, tool, "--list", "8", ".").Output()
		t.Logf("where they occur:\n%s", places)
	}
}
