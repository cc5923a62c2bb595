package cpar

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The wall: what may be linked into which room, and why. Every file is parsed
// whatever its build tags; only test files are left out, since no product
// links them. The files are read by the test itself, so that the test cache
// notices a change to any of them.

// A room is a part of the module whose packages must keep to one list.
type room struct {
	name string
	in   func(pkg string) bool
	// may lists what the room's packages may import besides the packages of
	// open; a trailing slash stands for everything below.
	may []string
}

const module = "cpar"

// open packages see no key and no plaintext; every room may use them.
var open = []string{
	module, module + "/kdforest", module + "/cparhttp",
	module + "/internal/modq", module + "/internal/wire",
	module + "/internal/durable", module + "/internal/hint", module + "/internal/indexdir", module + "/internal/exitcode",
}

func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

// cloudMay is everything from outside the module that code without a key may
// use, each with its reason.
var cloudMay = []string{
	// plain computing
	"bufio", "bytes", "cmp", "container/heap", "context", "encoding", "encoding/binary", "encoding/hex",
	"encoding/json", "errors", "fmt", "hash", "io", "io/fs", "iter", "maps", "math", "math/big", "math/bits",
	"path", "path/filepath", "regexp", "runtime", "runtime/debug", "slices", "sort", "strconv", "strings",
	"sync", "sync/atomic", "time", "unicode", "unicode/utf8", "unsafe",
	// the forest is built from a seed the owner gives (kdforest.Build)
	"math/rand/v2",
	// digests of segments, and names of temporary files
	"crypto/sha256", "crypto/rand",
	// a daemon: files, network, logs, signals
	"log/slog", "net", "net/http", "net/netip", "net/url", "os", "os/signal", "syscall", "flag",
	"golang.org/x/sys/", "github.com/gofrs/flock", "github.com/edsrzf/mmap-go", "golang.org/x/sync/",
	"github.com/danielgtaylor/huma/v2", "github.com/danielgtaylor/huma/v2/", "github.com/spf13/cobra",
	// files that were left by a killed process
	"github.com/spf13/pflag",
}

var rooms = []room{
	{
		name: "the cloud, and all that crosses the wall",
		in: func(pkg string) bool {
			return under(pkg, module+"/cloud") || under(pkg, module+"/cmd/cpard") || slices.Contains(open, pkg)
		},
		may: append([]string{module + "/cloud", module + "/cloud/"}, cloudMay...),
	},
	{
		name: "the owner",
		in:   func(pkg string) bool { return under(pkg, module+"/user") },
		may:  nil, // anything but the cloud, see forbidden
	},
}

// forbidden imports, each with the packages it is forbidden to and a reason.
// It repeats what the allow-list implies where the reason is worth reading.
var forbidden = []struct {
	imported string
	to       func(file, pkg string) bool
	why      string
}{
	{module + "/user", func(_, pkg string) bool { return rooms[0].in(pkg) }, "package user has seen a key or plaintext"},
	{"image", func(_, pkg string) bool { return rooms[0].in(pkg) }, "the cloud has no picture to decode"},
	{"golang.org/x/image", func(_, pkg string) bool { return rooms[0].in(pkg) }, "the cloud has no picture to decode"},
	{"filippo.io/age", func(_, pkg string) bool { return rooms[0].in(pkg) }, "the cloud has no key file to open"},
	{"github.com/tuneinsight/lattigo/v6/core/rlwe", func(_, pkg string) bool { return rooms[0].in(pkg) }, "it holds secret keys"},
	{module + "/cloud", func(_, pkg string) bool { return rooms[1].in(pkg) }, "the owner talks to a cloud over HTTP only"},
	{module + "/cloud", func(file, _ string) bool {
		return strings.HasPrefix(file, "cmd/cpar/") && file != "cmd/cpar/demo_cloud.go"
	}, "only cmd/cpar/demo_cloud.go may, which runs as a process of its own"},
	{module + "/eval", func(file, _ string) bool {
		return !strings.HasPrefix(file, "eval/") && !strings.HasPrefix(file, "cmd/cpar-eval/")
	}, "eval links both sides; nothing else imports it"},
}

// secretName matches identifiers of other packages that stand for a secret
// key, its making, or the sampling of one. The cloud may not name them, even
// of packages that it may link (a lattice library has both sides in one).
var secretName = regexp.MustCompile(`(?i)secret|privatekey|keygen|sampler|passphrase|decrypt`)

type violation struct {
	file, what string
	chain      []string
}

func (v violation) String() string {
	return fmt.Sprintf("%s: %s (linked through %s)", v.file, v.what, strings.Join(v.chain, " → "))
}

type source struct {
	name    string
	imports []string
	dots    []string
	secrets []string
}

// readModule parses every non-test Go file of fsys, by package path.
func readModule(fsys fs.FS) (map[string][]source, error) {
	packages := map[string][]source{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || d.Name() == "results") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		s, err := readSource(name, b)
		if err != nil {
			return err
		}
		pkg := path.Join(module, path.Dir(name))
		packages[pkg] = append(packages[pkg], s)
		return nil
	})
	return packages, err
}

func readSource(name string, b []byte) (source, error) {
	s := source{name: name}
	f, err := parser.ParseFile(token.NewFileSet(), name, b, parser.SkipObjectResolution)
	if err != nil {
		return s, err
	}
	local := map[string]string{}
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return s, err
		}
		s.imports = append(s.imports, p)
		as := path.Base(p)
		if regexp.MustCompile(`^v[0-9]+$`).MatchString(as) {
			as = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if as == "." {
			s.dots = append(s.dots, p)
		}
		local[as] = p
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && local[id.Name] != "" && secretName.MatchString(sel.Sel.Name) {
				s.secrets = append(s.secrets, local[id.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return s, nil
}

// checkWall returns every breach in the module's files.
func checkWall(packages map[string][]source) []violation {
	var out []violation
	for file, pkg := range files(packages) {
		for _, imp := range file.imports {
			for _, f := range forbidden {
				if under(imp, f.imported) && f.to(file.name, pkg) {
					out = append(out, violation{file.name, fmt.Sprintf("imports %s: %s", imp, f.why), []string{pkg, imp}})
				}
			}
		}
	}
	cloud := rooms[0]
	for _, root := range sortedKeys(packages) {
		if cloud.in(root) {
			out = append(out, walkRoom(packages, cloud, root)...)
		}
	}
	return out
}

func files(packages map[string][]source) map[*source]string {
	out := map[*source]string{}
	for pkg, list := range packages {
		for i := range list {
			out[&list[i]] = pkg
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// walkRoom follows the imports of root within the module and holds every file
// on the way to the room's list.
func walkRoom(packages map[string][]source, r room, root string) (out []violation) {
	seen := map[string]bool{root: true}
	var visit func(pkg string, chain []string)
	visit = func(pkg string, chain []string) {
		for _, f := range packages[pkg] {
			for _, p := range f.dots {
				out = append(out, violation{f.name, "dot import of " + p + ": it hides what is named", chain})
			}
			for _, name := range f.secrets {
				out = append(out, violation{f.name, "names " + name, chain})
			}
			for _, imp := range f.imports {
				next := append(slices.Clone(chain), imp)
				if !allowed(imp, r.may) && !slices.Contains(open, imp) {
					out = append(out, violation{f.name, "imports " + imp + ", which is not on the list of " + r.name, next})
				}
				if _, ours := packages[imp]; ours && !seen[imp] {
					seen[imp] = true
					visit(imp, next)
				}
			}
		}
	}
	visit(root, []string{root})
	return out
}

func allowed(imp string, may []string) bool {
	for _, m := range may {
		if imp == m || strings.HasSuffix(m, "/") && strings.HasPrefix(imp, m) {
			return true
		}
	}
	return false
}

func TestWall(t *testing.T) {
	packages, err := readModule(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, need := range []string{module, module + "/kdforest", module + "/cloud/score", module + "/cmd/cpard", module + "/user"} {
		if len(packages[need]) == 0 {
			t.Errorf("package %s is not there: the wall guards nothing", need)
		}
	}
	for _, v := range checkWall(packages) {
		t.Error(v)
	}
}

// TestWallPlants plants each kind of breach in the real module and sees that
// it is found, with the chain of imports that led there.
func TestWallPlants(t *testing.T) {
	plants := []struct {
		name, file, text, want string
	}{
		{"cloud imports a package of user", "cloud/score/plant.go",
			"package score\nimport _ \"cpar/user/rank\"\n", "cpar/cloud/score → cpar/user/rank"},
		{"cloud imports one transitively", "internal/wire/plant.go",
			"package wire\nimport _ \"cpar/user/rank\"\n", "cpar/internal/wire → cpar/user/rank"},
		{"kdforest imports one transitively", "kdforest/plant.go",
			"package kdforest\nimport _ \"cpar/plant\"\n", "cpar/kdforest → cpar/plant → cpar/user/rank"},
		{"a file behind a build tag does", "cloud/search/plant_windows.go",
			"//go:build never\n\npackage search\nimport _ \"cpar/user/ive\"\n", "cpar/user/ive"},
		{"a dot import", "cloud/score/plant.go",
			"package score\nimport . \"math\"\nvar _ = Pi\n", "dot import of math"},
		{"a renamed import of a sampler", "cloud/score/plant.go",
			"package score\nimport harmless \"math/rand/v2\"\nvar _ = harmless.NewGaussianSampler\n", "math/rand/v2.NewGaussianSampler"},
		{"the daemon decodes an image", "cmd/cpard/plant.go",
			"package main\nimport _ \"image/png\"\n", "imports image/png"},
		{"the daemon decodes an image through another package", "cloud/api/plant.go",
			"package api\nimport _ \"golang.org/x/image/webp\"\n", "imports golang.org/x/image/webp"},
		{"the owner links the cloud", "user/plant.go",
			"package user\nimport _ \"cpar/cloud/score\"\n", "imports cpar/cloud/score"},
		{"another file of the command links the cloud", "cmd/cpar/plant.go",
			"package main\nimport _ \"cpar/cloud/search\"\n", "imports cpar/cloud/search"},
		{"a product links the evaluation", "user/plant.go",
			"package user\nimport _ \"cpar/eval\"\n", "imports cpar/eval"},
	}
	clean, err := readModule(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			packages, err := readModule(fstest.MapFS{
				p.file:           {Data: []byte(p.text)},
				"plant/plant.go": {Data: []byte("package plant\nimport _ \"cpar/user/rank\"\n")},
			})
			if err != nil {
				t.Fatal(err)
			}
			for pkg, list := range clean {
				packages[pkg] = append(packages[pkg], list...)
			}
			var got []string
			for _, v := range checkWall(packages) {
				got = append(got, v.String())
			}
			if !strings.Contains(strings.Join(got, "\n"), p.want) {
				t.Errorf("planted %q in %s; found only %q", p.text, p.file, got)
			}
		})
	}
}
