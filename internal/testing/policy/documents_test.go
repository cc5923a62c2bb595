package policy

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

func walkFiles(t *testing.T, suffix string, f func(name string, b []byte)) {
	t.Helper()
	fsys := os.DirFS(".")
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "results") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, suffix) {
			return nil
		}
		b, err := fs.ReadFile(fsys, name)
		if err == nil {
			f(name, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)\(`)
	// identifier matches file:identifier in backticks.
	identifier = regexp.MustCompile("`([a-z0-9_/]+\\.go):([A-Za-z0-9_.]+)`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func TestDocumentsNameWhatExists(t *testing.T) {
	tests := map[string]bool{}
	errata := map[string]string{}
	walkFiles(t, "_test.go", func(name string, b []byte) {
		for _, m := range testFunc.FindAllSubmatch(b, -1) {
			tests[string(m[1])] = true
			if strings.HasPrefix(string(m[1]), "TestErratum") {
				errata[string(m[1])] = name
			}
		}
	})
	walkFiles(t, ".md", func(name string, b []byte) {
		for _, m := range testName.FindAllSubmatch(b, -1) {
			if !tests[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
			if name == "docs/PAPER.md" {
				delete(errata, string(m[1]))
			}
		}
		for _, m := range identifier.FindAllSubmatch(b, -1) {
			checkIdentifier(t, name, string(m[1]), string(m[2]))
		}
		for _, m := range link.FindAllSubmatch(b, -1) {
			checkLink(t, name, string(m[1]))
		}
	})
	guide, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for test := range tests {
		if strings.HasPrefix(test, "Fuzz") && !strings.Contains(string(guide), "`"+test+"`") {
			t.Errorf("CONTRIBUTING.md's table of fuzz targets lacks %s", test)
		}
	}
	for test, file := range errata {
		t.Errorf("%s: docs/PAPER.md does not name %s", file, test)
	}
}

// checkIdentifier looks for a declaration (function, method, type, field,
// constant or variable) of the last part of name.
func checkIdentifier(t *testing.T, doc, file, name string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%s names %s:%s: %v", doc, file, name, err)
		return
	}
	parts := strings.Split(name, ".")
	declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t|\t[A-Za-z, ]+, )` + regexp.QuoteMeta(parts[len(parts)-1]) + `\b`)
	if !declared.Match(b) || len(parts) > 1 && !regexp.MustCompile(`\b`+regexp.QuoteMeta(parts[0])+`\b`).Match(b) {
		t.Errorf("%s names %s:%s, which is not declared there", doc, file, name)
	}
}

var heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)

func checkLink(t *testing.T, doc, target string) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" {
		if err != nil {
			t.Errorf("%s links to %q: %v", doc, target, err)
		}
		return
	}
	file := doc
	if u.Path != "" {
		file = path.Join(path.Dir(doc), u.Path)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		if info, e := os.Stat(file); e != nil || !info.IsDir() || u.Fragment != "" {
			t.Errorf("%s links to %s: %v", doc, target, err)
		}
		return
	}
	if u.Fragment == "" {
		return
	}
	for _, m := range heading.FindAllSubmatch(b, -1) {
		if anchor(string(m[1])) == u.Fragment {
			return
		}
	}
	t.Errorf("%s links to %s: no such heading", doc, target)
}

// anchor returns the link target of a heading: lower case, hyphens for spaces,
// no punctuation.
func anchor(heading string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(strings.TrimSpace(heading)))
}

// TestPaperIsComplete requires a row in PAPER.md that names code for every
// figure, box, table, equation and line of Algorithm 1 in testdata/paper.txt.
func TestPaperIsComplete(t *testing.T) {
	list, err := os.ReadFile("internal/testing/policy/testdata/paper.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/PAPER.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = line
		}
	}
	places := strings.Fields(strings.ReplaceAll(string(list), " ", "\x00"))
	if len(places) != 71 {
		t.Errorf("%d places are listed", len(places))
	}
	for _, place := range places {
		place = strings.ReplaceAll(place, "\x00", " ")
		if !strings.Contains(rows[place], "`") {
			t.Errorf("PAPER.md has no row for %s, or it names no code: %q", place, rows[place])
		}
	}
}
