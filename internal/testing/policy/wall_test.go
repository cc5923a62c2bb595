package policy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// The wall defines which packages each room may link (rooms_test.go). Its
// walker (walk_test.go) parses every file except tests, for all build tags. It
// reads the files itself so that the test cache notices every change.

const module = "cpar"

// refusedNames are identifiers of other packages that a closed room may not
// use, even if it may import the package. An empty pkg means any package.
var refusedNames = []struct {
	pkg   string
	ident *regexp.Regexp
	why   string
}{
	{"", regexp.MustCompile(`(?i)secret|privatekey|keygen|sampler|passphrase|decrypt`),
		"it suggests a secret key, or generating or sampling one"},
	{"os", regexp.MustCompile(`^StartProcess$`), runsPrograms},
	{"syscall", runsOrLoads, runsPrograms},
	{"golang.org/x/sys", runsOrLoads, runsPrograms},
}

const runsPrograms = "the cloud runs no other program and loads no code"

// runsOrLoads matches system calls that start a program, load code or write
// into another process, and raw calls that can do any of these.
var runsOrLoads = regexp.MustCompile(`^(Exec|Fork|ForkExec|StartProcess|StartService|CreateProcess.*|ShellExecute.*|` +
	`Load(Library|DLL).*|MustLoadDLL|New(Lazy|LazySystem)DLL|LazyDLL|DLL|Ptrace.*|WriteProcessMemory|` +
	`(Raw|AllThreads)?Syscall.*)$`)

// refusedDirectives link a function of another package or a system library
// without an import.
var refusedDirectives = []string{"//go:linkname", "//go:cgo_"}

// kernelFiles are the only assembly files in closed rooms. The generators in
// their gen folders write those for amd64, and tests compare the output. All are
// safe, because notArithmetic accepts only arithmetic.
var kernelFiles = []string{
	"internal/mod48/avx2_amd64.s", "internal/mod48/ifma_amd64.s", "internal/mod48/neon_arm64.s",
	"internal/modq/avx2_amd64.s", "internal/modq/avx512_amd64.s", "internal/modq/neon_arm64.s",
}

// arithmetic matches the instructions that kernels may use. None of them calls,
// traps or inserts raw bytes. Jumps only go to labels in the same kernel, to
// count a length or handle a tail.
var arithmetic = regexp.MustCompile(`^((VP|VMOV|VEXTRACTI|VINSERTI|VSHUFI|VBROADCAST)[A-Z0-9]+(\.BCST|\.Z)*|V(ADD|SUB|MUL|ROUND|CMP|AND|OR|XOR|FN?M(ADD|SUB)[123]+)PD|VZEROUPPER|K?MOV[BWLQ]|LEAQ|ADDQ|SUBQ|IMULQ|INCQ|DECQ|XORQ|ANDQ|SHLQ|SHRQ|SHLXQ|` +
	`TESTQ|CMPQ|PREFETCHT[012]|J(MP|Z|NZ|E|NE|L)|RET|` +
	// arm64
	`(V(LD[12]R?|ST[12])|F?MOV[DQ])(\.P)?|V(MOV|EOR|AND|ORR|ADD|SUB|ADDP|ADDV|DUP|TBL|USHR|SLI|FMLA|FMLS)|` +
	`LDP|STP|ADD|SUBS?|MADD|AND|ORR|LS[LR]|B|BNE|CBN?Z)$`)

// arithmeticWord matches instructions for arm64 that Go's assembler lacks.
// Package arm64words compares their names with their numbers.
var arithmeticWord = regexp.MustCompile(`^WORD +\$0x[0-9a-f]{8} // (u(mlal|mull|shl)2?|mla|mul|shll2?|f(add|sub|mul|mla|mls|neg|rintn|cvtzs)|ucvtf|cmlt) `)

// foreignSuffixes are files other than Go files that the go command builds.
// Closed rooms have only kernelFiles.
var foreignSuffixes = []string{
	".s", ".S", ".sx", ".syso", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx",
	".m", ".f", ".F", ".for", ".f90", ".swig", ".swigcxx",
}

func TestWall(t *testing.T) {
	tree, err := readModule(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if tree.name != module {
		t.Errorf("go.mod names the module %q: the wall expects %q", tree.name, module)
	}
	needed := append([]string{module + "/cloud/score", module + "/cmd/cpard", module + "/cmd/cpar", module + "/user"}, open...)
	for _, need := range needed {
		if len(tree.packages[need]) == 0 {
			t.Errorf("package %s is missing: the wall guards nothing", need)
		}
	}
	for _, file := range kernelFiles {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the wall allows a kernel that is missing: %v", err)
		}
	}
	for _, v := range tree.check() {
		t.Error(v)
	}
	// The test has read every file that go list reads, so the test cache
	// notices every change.
	t.Run("as the go command links", func(t *testing.T) {
		needGo(t)
		by, err := daemonLinks()
		if err != nil {
			t.Fatal(err)
		}
		for _, need := range []string{module + "/cloud/score", "github.com/spf13/cobra", "net/http"} {
			if _, linked := by[need]; !linked {
				t.Errorf("the daemon does not link %s: the go command listed something else", need)
			}
		}
		for _, v := range checkLinks(by, cloudRoom) {
			t.Error(v)
		}
	})
}

// kopia (the library behind albums) imports expvar, which registers a handler
// with http.DefaultServeMux. No code of the module may serve that mux.
func TestNothingServesDefaultServeMux(t *testing.T) {
	tree, err := readModule(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	serves := regexp.MustCompile(`^(DefaultServeMux|Handle|HandleFunc|ListenAndServe|ListenAndServeTLS|Serve|ServeTLS)$`)
	for _, files := range tree.packages {
		for _, f := range files {
			for _, n := range f.names {
				if n.pkg == "net/http" && serves.MatchString(n.ident) {
					t.Errorf("%s names http.%s", f.name, n.ident)
				}
			}
		}
	}
}

func needGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command: ", err)
	}
}

// bystanders are added with every plant (planted file). They are violations
// only if a room imports them.
var bystanders = map[string]string{
	"plant/plant.go":                    "package plant\nimport _ \"cpar/model/rank\"\n",
	"internal/plant/plant.go":           "package plant\nimport _ \"cpar/cloud/store\"\n",
	"plant/score/score.go":              "package score\nimport _ \"cpar/cloud/score\"\n",
	"cloud/score/testdata/evil/evil.go": "package evil\nimport _ \"cpar/model/rank\"\n",
	"cloud/results/evil/evil.go":        "package evil\nimport _ \"cpar/model/rank\"\n",
}

var plants = []struct{ name, file, text, want string }{
	// imports
	{"cloud imports a package of user", "cloud/score/plant.go",
		"package score\nimport _ \"cpar/model/rank\"\n", "cpar/cloud/score → cpar/model/rank"},
	{"cloud imports one transitively", "internal/wire/plant.go",
		"package wire\nimport _ \"cpar/model/rank\"\n", "cpar/internal/wire → cpar/model/rank"},
	{"kdforest imports one transitively", "kdforest/plant.go",
		"package kdforest\nimport _ \"cpar/plant\"\n", "cpar/kdforest → cpar/plant → cpar/model/rank"},
	{"a file behind a build tag does", "cloud/search/plant_windows.go",
		"//go:build never\n\npackage search\nimport _ \"cpar/user/ive\"\n", "cpar/user/ive"},
	{"the daemon decodes an image", "cmd/cpard/plant.go",
		"package main\nimport _ \"image/png\"\n", "imports image/png"},
	{"the daemon decodes an image of another module", "cloud/api/plant.go",
		"package api\nimport _ \"golang.org/x/image/webp\"\n", "imports golang.org/x/image/webp"},
	{"the owner links the cloud", "user/plant.go",
		"package user\nimport _ \"cpar/cloud/score\"\n", "imports cpar/cloud/score: the owner talks"},
	{"the owner links what is made for tests", "user/plant.go",
		"package user\nimport _ \"cpar/user/internal/fixtures\"\n", "imports cpar/user/internal/fixtures: only tests"},
	{"the owner links the cloud indirectly", "user/plant.go",
		"package user\nimport _ \"cpar/plant/score\"\n", "over HTTP only (linked through cpar/user → cpar/plant/score → cpar/cloud/score)"},
	{"another file of the command links the cloud", "cmd/cpar/plant.go",
		"package main\nimport _ \"cpar/cloud/search\"\n", "imports cpar/cloud/search: only cmd/cpar/demo_cloud.go"},
	{"another file of the command links it indirectly", "cmd/cpar/plant.go",
		"package main\nimport _ \"cpar/internal/plant\"\n", "cpar/cmd/cpar → cpar/internal/plant → cpar/cloud/store"},
	{"the demo links the cloud", "cmd/cpar/internal/demo/plant.go",
		"package demo\nimport _ \"cpar/internal/plant\"\n", "cpar/internal/plant → cpar/cloud/store"},
	{"photos link the owner", "photo/metadata/plant.go",
		"package metadata\nimport _ \"cpar/user/ive\"\n", "imports cpar/user/ive: code without keys"},
	{"photos link the cloud", "photo/decode/plant.go",
		"package decode\nimport _ \"cpar/cloud/score\"\n", "imports cpar/cloud/score: plaintext stays"},
	{"photos link a network", "photo/decode/plant.go",
		"package decode\nimport _ \"cpar/encoder\"\n", "imports cpar/encoder: reading a photo needs no network"},
	{"photos link learning", "photo/dataset/plant.go",
		"package dataset\nimport _ \"cpar/model/rank\"\n", "imports cpar/model/rank: reading a photo needs no learning"},
	{"photos link the evaluation", "photo/dataset/plant.go",
		"package dataset\nimport _ \"cpar/eval\"\n", "imports cpar/eval: eval"},
	{"networks link the owner", "encoder/plant.go",
		"package encoder\nimport _ \"cpar/user\"\n", "imports cpar/user: code without keys"},
	{"networks link the cloud indirectly", "encoder/plant.go",
		"package encoder\nimport _ \"cpar/plant/score\"\n", "cpar/encoder → cpar/plant/score → cpar/cloud/score"},
	{"learning links the owner", "model/rank/plant.go",
		"package rank\nimport _ \"cpar/user/ive\"\n", "imports cpar/user/ive: code without keys"},
	{"learning links the cloud", "model/feature/plant.go",
		"package feature\nimport _ \"cpar/cloud/search\"\n", "imports cpar/cloud/search: plaintext stays"},
	{"the cloud links photos", "cloud/score/plant.go",
		"package score\nimport _ \"cpar/photo/metadata\"\n", "imports cpar/photo/metadata: the cloud sees no photo"},
	{"the cloud links networks", "cloud/api/plant.go",
		"package api\nimport _ \"cpar/encoder\"\n", "imports cpar/encoder: the cloud runs no network"},
	{"the cloud links learning", "cloud/search/plant.go",
		"package search\nimport _ \"cpar/model/feature\"\n", "imports cpar/model/feature: the cloud sees no feature"},
	{"a product links the evaluation", "user/plant.go",
		"package user\nimport _ \"cpar/eval/measure\"\n", "imports cpar/eval/measure: eval links both"},
	{"a product drives a browser", "user/plant.go",
		"package user\nimport _ \"cpar/internal/testing/browser\"\n", "imports cpar/internal/testing/browser: only tests"},
	{"a product links a server made for tests", "model/feature/plant.go",
		"package feature\nimport _ \"cpar/internal/testing/natstest\"\n", "imports cpar/internal/testing/natstest: only tests"},
	{"the owner links a box of the paper", "user/plant.go",
		"package user\nimport _ \"cpar/letter\"\n", "imports cpar/letter: the paper's constructions"},

	// packages outside what the wall reads
	{"cloud imports from testdata", "cloud/score/plant.go",
		"package score\nimport _ \"cpar/cloud/score/testdata/evil\"\n", "imports cpar/cloud/score/testdata/evil: no package"},
	{"cloud imports from results", "cloud/score/plant.go",
		"package score\nimport _ \"cpar/cloud/results/evil\"\n", "imports cpar/cloud/results/evil: no package"},
	{"the owner imports from testdata", "user/plant.go",
		"package user\nimport _ \"cpar/user/testdata/evil\"\n", "imports cpar/user/testdata/evil: no package"},
	{"the command imports from testdata", "cmd/cpar/plant.go",
		"package main\nimport _ \"cpar/cmd/cpar/testdata/evil\"\n", "imports cpar/cmd/cpar/testdata/evil: no package"},
	{"cloud imports by a roundabout path", "cloud/score/plant.go",
		"package score\nimport _ \"cpar/cloud/../plant\"\n", "imports cpar/cloud/../plant: no package"},
	{"cloud imports a missing package", "cloud/score/plant.go",
		"package score\nimport _ \"cpar/cloud/nowhere\"\n", "imports cpar/cloud/nowhere: no package"},

	// other files of the module and go.sum
	{"a module replaced", "go.mod",
		"module cpar\n\nreplace golang.org/x/sys => ./plant\n", "go.mod: has a replace directive"},
	{"modules replaced in a block", "go.mod",
		"module cpar\n\nreplace(\n\tgolang.org/x/sys v0.1.0 => ./plant // as it was\n)\n", "go.mod: has a replace directive"},
	{"another module in the place of gRPC", "go.mod",
		"module cpar\n\nreplace google.golang.org/grpc => ../grpc\n", "go.mod: has a replace directive"},
	{"the module in the place of gRPC connects", "internal/grpc/plant.go",
		"package grpc\nimport _ \"net\"\n", "imports net: not on the list"},
	{"a workspace", "go.work", "go 1.26.0\n\nuse .\nuse ../other\n", "go.work: is a workspace"},
	{"a vendor folder", "vendor/modules.txt", "# golang.org/x/sys v0.1.0\n", "vendor: is a vendor folder"},

	// foreign programs and code
	{"cloud starts a program", "cloud/store/plant.go",
		"package store\nimport _ \"os/exec\"\n", "imports os/exec: the cloud runs no other program"},
	{"cloud starts a program through another package", "cloud/store/plant.go",
		"package store\nimport _ \"golang.org/x/sys/execabs\"\n", "imports golang.org/x/sys/execabs: not on the list"},
	{"os.StartProcess", "cloud/store/plant.go",
		"package store\nimport \"os\"\nvar _ = os.StartProcess\n", "names os.StartProcess"},
	{"syscall.ForkExec", "cloud/store/plant_unix.go",
		"//go:build unix\n\npackage store\nimport \"syscall\"\nvar _ = syscall.ForkExec\n", "names syscall.ForkExec"},
	{"syscall.Exec", "internal/durable/plant.go",
		"package durable\nimport \"syscall\"\nvar _ = syscall.Exec\n", "names syscall.Exec"},
	{"syscall.StartProcess, renamed", "cmd/cpard/plant.go",
		"package main\nimport harmless \"syscall\"\nvar _ = harmless.StartProcess\n", "names syscall.StartProcess"},
	{"unix.Exec", "cloud/store/plant.go",
		"package store\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.Exec\n", "names golang.org/x/sys/unix.Exec"},
	{"a raw system call", "cloud/store/plant.go",
		"package store\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.RawSyscall6\n", "names golang.org/x/sys/unix.RawSyscall6"},
	{"a library loaded", "cloud/store/plant_windows.go",
		"package store\nimport \"golang.org/x/sys/windows\"\nvar _ = windows.NewLazyDLL\n", "names golang.org/x/sys/windows.NewLazyDLL"},

	// code that is not Go or not imported
	{"assembly", "cloud/score/plant_amd64.s", "TEXT ·f(SB), $0\n\tRET\n", "cloud/score/plant_amd64.s: is built"},
	{"another file of assembly beside the kernels", "internal/modq/plant_amd64.s", "TEXT ·f(SB), $0\n\tRET\n",
		"internal/modq/plant_amd64.s: is built"},
	{"kernels for another processor", "internal/modq/avx512_arm64.s", "TEXT ·f(SB), $0\n\tRET\n",
		"internal/modq/avx512_arm64.s: is built"},
	{"a kernel's name in another folder", "cloud/score/avx2_amd64.s", "TEXT ·f(SB), $0\n\tRET\n",
		"cloud/score/avx2_amd64.s: is built"},
	{"a kernel that calls", "internal/modq/avx2_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tCALL os·Exit(SB)\n",
		`line 2 is "CALL os·Exit(SB)"`},
	{"a kernel that calls through a register", "internal/modq/avx2_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tCALL AX\n",
		`line 2 is "CALL AX"`},
	{"a kernel that jumps to another function", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tJMP os·Exit(SB)\n",
		`line 2 is "JMP os·Exit(SB)"`},
	{"a kernel that jumps through a register", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tJMP (AX)\n",
		`line 2 is "JMP (AX)"`},
	{"a kernel that jumps to an undefined label", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tJZ done\n",
		`line 2 is "JZ done"`},
	{"a kernel that makes a system call", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tSYSCALL\n\tRET\n",
		`line 2 is "SYSCALL"`},
	{"a kernel of raw bytes", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tBYTE $0x0f\n",
		`line 2 is "BYTE $0x0f"`},
	{"a kernel that reads a variable", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tMOVQ ·key(SB), AX\n",
		`line 2 is "MOVQ ·key(SB), AX"`},
	{"a kernel with two statements on a line", "internal/modq/avx512_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tRET; SYSCALL\n",
		`line 2 is "RET; SYSCALL"`},
	{"a kernel for arm64 that calls", "internal/modq/neon_arm64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tBL  os·Exit(SB)\n", `line 2 is "BL  os·Exit(SB)"`},
	{"a kernel for arm64 that jumps to another function", "internal/modq/neon_arm64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tCBZ R0, os·Exit(SB)\n",
		`line 2 is "CBZ R0, os·Exit(SB)"`},
	{"a kernel for arm64 that jumps through a register", "internal/modq/neon_arm64.s", "TEXT ·f(SB), NOSPLIT, $0-0\n\tB (R0)\n",
		`line 2 is "B (R0)"`},
	{"a kernel for arm64 with a word that is no arithmetic", "internal/modq/neon_arm64.s",
		"TEXT ·f(SB), NOSPLIT, $0-0\n\tWORD $0xd4000001 // svc #0x0\n", `line 2 is "WORD $0xd4000001 // svc #0x0"`},
	{"a kernel for arm64 with two words", "internal/modq/neon_arm64.s",
		"TEXT ·f(SB), NOSPLIT, $0-0\n\tWORD $0xd4000001; WORD $0x4ea39412 // mla v18.4s, v0.4s, v3.4s\n", `line 2 is "WORD $0xd4000001; WORD`},
	{"a kernel of macros", "internal/modq/avx512_amd64.s", "#define RET SYSCALL\n", `line 1 is "#define RET SYSCALL"`},
	{"a kernel that includes another file", "internal/modq/avx512_amd64.s", "#include \"other.h\"\n", `line 1 is "#include`},
	{"a kernel named after another package", "internal/modq/avx512_amd64.s", "TEXT runtime·f(SB), NOSPLIT, $0-0\n\tRET\n",
		`line 1 is "TEXT runtime·f`},
	{"the owner links the generator", "user/plant.go",
		"package user\nimport _ \"github.com/mmcloughlin/avo/build\"\n", "it writes kernels before the build"},
	{"an object file", "kdforest/plant.syso", "\x7fELF", "kdforest/plant.syso: is built"},
	{"a C file", "internal/wire/plant.c", "int f;\n", "internal/wire/plant.c: is built"},
	{"a C header", "plant.h", "int f;\n", "plant.h: is built"},
	{"cgo", "cloud/score/plant.go", "package score\n\n// int f;\nimport \"C\"\n", "imports C: calls from C"},
	{"a function linked by name", "cloud/score/plant.go",
		"package score\nimport _ \"unsafe\"\n\n//go:linkname f cpar/model/rank.f\nfunc f()\n", "//go:linkname f cpar/model/rank.f"},
	{"a function of a system library", "cloud/score/plant.go",
		"package score\n\n//go:cgo_import_dynamic f f \"libf.so\"\n", "//go:cgo_import_dynamic f"},

	// names
	{"a dot import", "cloud/score/plant.go",
		"package score\nimport . \"math\"\nvar _ = Pi\n", "dot import of math"},
	{"a renamed import of a sampler", "cloud/score/plant.go",
		"package score\nimport harmless \"math/rand/v2\"\nvar _ = harmless.NewGaussianSampler\n", "math/rand/v2.NewGaussianSampler"},
	{"a package not named after its folder", "cloud/store/plant.go",
		"package store\nimport \"github.com/edsrzf/mmap-go\"\nvar _ = mmap.Decrypt\n", "mmap-go.Decrypt"},
}

// TestWallPlants checks that each kind of violation, planted in the real
// module, is found with its chain of imports.
func TestWallPlants(t *testing.T) {
	clean, err := readModule(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	found := func(t *testing.T, file, text string) string {
		t.Helper()
		fsys := fstest.MapFS{file: {Data: []byte(text)}}
		for name, text := range bystanders {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		tree, err := readModule(fsys)
		if err != nil {
			t.Fatal(err)
		}
		for pkg, list := range clean.packages {
			tree.packages[pkg] = append(tree.packages[pkg], list...)
		}
		var got []string
		for _, v := range tree.check() {
			got = append(got, v.String())
		}
		return strings.Join(got, "\n")
	}
	if got := found(t, "plant/harmless.go", "package plant\n"); got != "" {
		t.Fatalf("with nothing planted, found %s", got)
	}
	allowed := "package user\nimport _ \"cpar/photo/metadata\"\nimport _ \"cpar/encoder\"\nimport _ \"cpar/model/rank\"\n"
	if got := found(t, "user/plant.go", allowed); got != "" {
		t.Errorf("the owner may link photos, networks and learning; found %s", got)
	}
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			if got := found(t, p.file, p.text); !strings.Contains(got, p.want) {
				t.Errorf("planted %q in %s; found only %q", p.text, p.file, got)
			}
		})
	}
	t.Run("as the go command links", func(t *testing.T) {
		needGo(t)
		plant := filepath.Join(t.TempDir(), "plant.go")
		text := "package main\nimport _ \"golang.org/x/image/webp\"\nimport _ \"os/exec\"\n"
		if err := os.WriteFile(plant, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		there, err := filepath.Abs("cmd/cpard/plant.go")
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(map[string]any{"Replace": map[string]string{there: plant}})
		if err != nil {
			t.Fatal(err)
		}
		overlay := filepath.Join(filepath.Dir(plant), "overlay.json")
		if err := os.WriteFile(overlay, b, 0o666); err != nil {
			t.Fatal(err)
		}
		by, err := daemonLinks("-overlay", overlay)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range checkLinks(by, cloudRoom) {
			got = append(got, v.what)
		}
		// Package image/color is linked only because golang.org/x/image imports
		// it.
		for _, want := range []string{"links golang.org/x/image/webp", "links image/color", "links os/exec"} {
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("planted %q; found only %q, not %q", text, got, want)
			}
		}
	})
}
