package policy

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type violation struct {
	file, what string
	chain      []string
}

func (v violation) String() string {
	return fmt.Sprintf("%s: %s (linked through %s)", v.file, v.what, strings.Join(v.chain, " → "))
}

func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

// A tree holds the module's files as the wall reads them.
type tree struct {
	name     string               // of the module, in go.mod
	packages map[string][]source  // Go files by package path
	foreign  map[string][]foreign // files other than Go files and kernels, by package path
	diverted []violation          // files that make the go command build other files
}

// A foreign file has one of foreignSuffixes. Field `what` describes the
// problem.
type foreign struct{ name, what string }

// A source is one Go file other than a test.
type source struct {
	name       string
	imports    []string
	dots       []string // packages imported with a dot
	names      []name   // identifiers that it uses from other packages
	directives []string // comments that start with one of refusedDirectives
}

// A name is an identifier and the real path of its package.
type name struct{ pkg, ident string }

// readModule parses every non-test Go file of fsys. It skips testdata, results
// and hidden folders. walk refuses imports from them.
func readModule(fsys fs.FS) (*tree, error) {
	t := &tree{packages: map[string][]source{}, foreign: map[string][]foreign{}}
	err := fs.WalkDir(fsys, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base, pkg := path.Base(file), path.Join(module, path.Dir(file))
		switch {
		case d.IsDir() && (strings.HasPrefix(base, ".") && file != "." || base == "testdata" || base == "results"):
			return fs.SkipDir
		case base == "vendor": // WalkDir does not treat a link to a folder as a folder
			t.divert(file, "is a vendor folder: its copies would be built, not the modules of go.sum")
			if d.IsDir() {
				return fs.SkipDir
			}
		case base == "go.work":
			t.divert(file, "is a workspace: it puts other modules in place of those of go.sum")
		case d.IsDir() || strings.HasSuffix(base, "_test.go"):
		case slices.Contains(foreignSuffixes, path.Ext(base)):
			what := "is built by the go command and is not Go: its calls cannot be checked"
			if slices.Contains(kernelFiles, file) {
				b, err := fs.ReadFile(fsys, file)
				if err != nil {
					return err
				}
				what = notArithmetic(string(b))
			}
			if what != "" {
				t.foreign[pkg] = append(t.foreign[pkg], foreign{file, what})
			}
		case file == "go.mod" || path.Ext(base) == ".go":
			b, err := fs.ReadFile(fsys, file)
			if err != nil {
				return err
			}
			if file == "go.mod" {
				t.readMod(b)
				return nil
			}
			s, err := readSource(file, b)
			t.packages[pkg] = append(t.packages[pkg], s)
			return err
		}
		return nil
	})
	return t, err
}

func (t *tree) divert(file, what string) {
	t.diverted = append(t.diverted, violation{file, what, []string{"the go command"}})
}

// standIn is the only replacement that go.mod may contain. The wall reads its
// folder like a package of this module, and a closed room limits its imports.
var standIn = []string{"replace", "google.golang.org/grpc", "=>", "./internal/grpc"}

func (t *tree) readMod(b []byte) {
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n()", r) })
		switch {
		case len(words) == 2 && words[0] == "module":
			t.name = words[1]
		case len(words) > 0 && words[0] == "replace" && !slices.Equal(words, standIn):
			t.divert("go.mod", "has a replace directive: it puts other files in place of a module of go.sum")
		}
	}
}

var (
	kernelText  = regexp.MustCompile(`^TEXT ·[A-Za-z0-9_]+\(SB\), NOSPLIT, \$0-[0-9]+$`)
	kernelLabel = regexp.MustCompile(`^[a-z][a-z0-9_A-Z]*:$`)
	kernelJump  = regexp.MustCompile(`^(J|B|CB)`)
)

// notArithmetic returns the first line of a kernel that is not a function's
// head, a label, an arithmetic instruction or a comment, or "". It also returns
// lines that it cannot parse.
func notArithmetic(text string) string {
	labels := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); kernelLabel.MatchString(line) {
			labels[strings.TrimSuffix(line, ":")] = true
		}
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		op, operands, _ := strings.Cut(line, " ")
		target := strings.TrimSpace(operands[strings.LastIndex(operands, ",")+1:])
		switch {
		case line == "" || strings.HasPrefix(line, "//") || line == `#include "textflag.h"`:
		case kernelText.MatchString(line) || kernelLabel.MatchString(line) || arithmeticWord.MatchString(line):
		case !arithmetic.MatchString(op) || strings.Contains(operands, "(SB)") || strings.ContainsAny(line, ";\\") ||
			strings.Contains(line, "/*") || kernelJump.MatchString(op) && !labels[target]:
			return fmt.Sprintf("line %d is %q: a kernel may only compute", number, line)
		}
	}
	return ""
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

func readSource(file string, b []byte) (source, error) {
	s := source{name: file}
	f, err := parser.ParseFile(token.NewFileSet(), file, b, parser.SkipObjectResolution|parser.ParseComments)
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
		if spec.Name != nil {
			local[spec.Name.Name] = p
			if spec.Name.Name == "." {
				s.dots = append(s.dots, p)
			}
			continue
		}
		as := path.Base(p)
		if majorVersion.MatchString(as) {
			as = path.Base(path.Dir(p))
		}
		// Package mmap may be in a folder named mmap-go or mmap.v2.
		for _, word := range strings.FieldsFunc(as, func(r rune) bool { return r == '-' || r == '.' }) {
			local[word] = p
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && local[id.Name] != "" {
				s.names = append(s.names, name{local[id.Name], sel.Sel.Name})
			}
		}
		return true
	})
	for _, group := range f.Comments {
		for _, c := range group.List {
			for _, d := range refusedDirectives {
				if strings.HasPrefix(c.Text, d) {
					s.directives = append(s.directives, c.Text)
				}
			}
		}
	}
	return s, nil
}

func (t *tree) check() []violation {
	out := slices.Clone(t.diverted)
	for _, r := range rooms {
		out = append(out, t.walk(r)...)
	}
	return out
}

// walk follows the imports of a room's packages within the module and applies
// the room's lists to every file that it reaches, inside and outside the room.
func (t *tree) walk(r room) (out []violation) {
	seen := map[string]bool{}
	var visit func(pkg string, chain []string)
	visit = func(pkg string, chain []string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		if r.may != nil {
			for _, file := range t.foreign[pkg] {
				out = append(out, violation{file.name, file.what, chain})
			}
		}
		for _, f := range t.packages[pkg] {
			if f.name == r.except {
				continue
			}
			if r.may != nil {
				out = append(out, f.hides(chain)...)
			}
			for _, imp := range f.imports {
				next := append(slices.Clone(chain), imp)
				if why := t.refuses(r, imp); why != "" {
					out = append(out, violation{f.name, fmt.Sprintf("imports %s: %s", imp, why), next})
				}
				if len(t.packages[imp]) > 0 {
					visit(imp, next)
				}
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(t.packages)) {
		if r.in(pkg) {
			visit(pkg, []string{pkg})
		}
	}
	return out
}

// refuses returns the reason why a package may not be linked into the room, or
// "".
func (t *tree) refuses(r room, imp string) string {
	if why := r.bans(imp); why != "" {
		return why
	}
	if under(imp, module) && len(t.packages[imp]) == 0 {
		return "no package that the wall has read"
	}
	listed := func(m string) bool {
		return imp == m || strings.HasSuffix(m, "/") && strings.HasPrefix(imp, m)
	}
	if r.may != nil && !slices.ContainsFunc(r.may, listed) {
		return "not on the list of " + r.name
	}
	return ""
}

func (r room) bans(imp string) string {
	for _, b := range r.never {
		if under(imp, b.pkg) {
			return b.why
		}
	}
	return ""
}

// hides returns violations in a file of a closed room that its imports do not
// show, such as linked functions.
func (s source) hides(chain []string) (out []violation) {
	for _, p := range s.dots {
		out = append(out, violation{s.name, "dot import of " + p + ": it hides which names are used", chain})
	}
	for _, d := range s.directives {
		out = append(out, violation{s.name, "has the directive " + d + ": it links without an import", chain})
	}
	for _, n := range s.names {
		for _, r := range refusedNames {
			if (r.pkg == "" || under(n.pkg, r.pkg)) && r.ident.MatchString(n.ident) {
				out = append(out, violation{s.name, fmt.Sprintf("names %s.%s: %s", n.pkg, n.ident, r.why), chain})
			}
		}
	}
	return out
}

// daemonLinks asks the go command for the packages that the daemon links,
// including packages of other modules. It maps each package to its importers.
func daemonLinks(flags ...string) (map[string][]string, error) {
	args := append([]string{"list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`}, flags...)
	b, err := exec.Command("go", append(args, "./cmd/cpard")...).Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("listing what the daemon links: %w", err)
	}
	by := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if by[words[0]] == nil {
			by[words[0]] = []string{}
		}
		for _, imp := range words[1:] {
			by[imp] = append(by[imp], words[0])
		}
	}
	// "C" marks a file that cgo translates. With a C compiler, the standard
	// library has such files.
	delete(by, "C")
	return by, nil
}

// checkLinks applies the room's bans to all linked packages. The list of
// allowed imports applies only to the module's own files.
func checkLinks(by map[string][]string, r room) (out []violation) {
	for _, pkg := range slices.Sorted(maps.Keys(by)) {
		if why := r.bans(pkg); why != "" {
			out = append(out, violation{"cmd/cpard", fmt.Sprintf("links %s: %s", pkg, why), append(slices.Clone(by[pkg]), pkg)})
		}
	}
	return out
}
