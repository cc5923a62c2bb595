package policy

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// schemesNamed lists the places outside this package that may name a scheme's
// constant. All other code uses their tables, so that adding a scheme takes one
// row in each table.
var schemesNamed = []struct{ file, why string }{
	{"cloud/index.go", "the cloud's table: a type for each kind of index"},
	{"internal/leakage/reveal.go", "what a cloud learns under each, worded once"},
	{"user/scheme.go", "the owner's table"},
	{"user/tune/", "it chooses between schemes, and says how large an index of each is"},
	{"internal/testing/indexsample/", "indexes made up for tests"},
	{"eval/", "it measures and attacks the schemes"},
}

var schemeConstant = regexp.MustCompile(`^Scheme[A-Z]`)

// schemesNamed returns the places that name a scheme without permission, and
// the permitted places that name one.
func (t *tree) schemesNamed() (bad []string, seen map[string]bool) {
	seen = map[string]bool{}
	for _, list := range t.packages {
		for _, s := range list {
			for _, n := range s.names {
				if n.pkg != module || !schemeConstant.MatchString(n.ident) {
					continue
				}
				allowed := ""
				for _, a := range schemesNamed {
					if s.name == a.file || strings.HasSuffix(a.file, "/") && strings.HasPrefix(s.name, a.file) {
						allowed = a.file
					}
				}
				if seen[allowed] = true; allowed == "" {
					bad = append(bad, s.name+" names "+n.ident)
				}
			}
		}
	}
	return bad, seen
}

func TestSchemesAreNamedInTables(t *testing.T) {
	tree, err := readModule(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	bad, seen := tree.schemesNamed()
	for _, b := range bad {
		t.Errorf("%s: use a table instead, or say in schemesNamed why not", b)
	}
	for _, a := range schemesNamed {
		if !seen[a.file] {
			t.Errorf("%s may name schemes and names none", a.file)
		}
	}
	for name, file := range map[string]string{
		"the owner":   "user/request.go",
		"the cloud":   "cloud/search/search.go",
		"the command": "cmd/cpar/annotate.go",
		"a scheme":    "user/internal/rows/index.go",
	} {
		text := "package p\nimport c \"cpar\"\nfunc f(s c.Scheme) bool { return s == c.SchemeSealed }\n"
		planted, err := readModule(fstest.MapFS{file: {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if bad, _ := planted.schemesNamed(); len(bad) != 1 || bad[0] != file+" names SchemeSealed" {
			t.Errorf("%s: planted in %s, found %q", name, file, bad)
		}
	}
}
