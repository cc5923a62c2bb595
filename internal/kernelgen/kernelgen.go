// Package kernelgen supports the generators of assembly kernels.
//
//	a context of kernels ─▶ NAME_amd64.s and NAME_amd64.go, its declarations
package kernelgen

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// Kernels extends the build context of avo, an assembly generator.
type Kernels struct{ *build.Context }

// Files compiles the kernels of a package, one function for each processor
// level, and returns the text of each level's two files by name.
func Files(pkg string, levels map[string]func(Kernels)) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, level := range levels {
		k := Kernels{build.NewContext()}
		k.ConstraintExpr("!purego")
		level(k)
		file, err := k.Result()
		if err != nil {
			return nil, fmt.Errorf("writing the kernels for %s: %w", name, err)
		}
		if err := pass.Compile.Execute(file); err != nil {
			return nil, fmt.Errorf("compiling the kernels for %s: %w", name, err)
		}
		cfg := printer.Config{Name: "internal/" + pkg + "/gen", Pkg: pkg}
		for suffix, p := range map[string]printer.Printer{
			"_amd64.s": printer.NewGoAsm(cfg), "_amd64.go": printer.NewStubs(cfg),
		} {
			text, err := p.Print(file)
			if err != nil {
				return nil, fmt.Errorf("printing %s%s: %w", name, suffix, err)
			}
			files[name+suffix] = bytes.TrimLeft(text, "\n")
		}
	}
	return files, nil
}

// Main writes the generated files into the folder given by -dir.
func Main(generate func() (map[string][]byte, error)) {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	dir := flag.String("dir", ".", "folder of the package")
	flag.Parse()
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(*dir, name), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// Differences lists the files of a folder that differ from the generated text,
// and assembly files without a generator. Another generator may write the files
// for another processor.
func Differences(dir string, files map[string][]byte) (out []string) {
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			out = append(out, name+" differs from the generated text: run go generate")
		}
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.s"))
	if err != nil {
		return append(out, err.Error())
	}
	forARM := func(file string) bool { return strings.HasSuffix(file, "_arm64.s") }
	writesARM := slices.ContainsFunc(slices.Collect(maps.Keys(files)), forARM)
	for _, file := range there {
		if files[filepath.Base(file)] == nil && forARM(file) == writesARM {
			out = append(out, file+" is not generated")
		}
	}
	return out
}

// Jumps lists the jumps that may depend on a kernel's data. A jump may depend
// only on a count or length in a register. Jumps also reports files without
// jumps, because every kernel has a loop.
func Jumps(files map[string][]byte) (out []string) {
	for name, text := range files {
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		jumps, lines := 0, strings.Split(string(text), "\n")
		for i, line := range lines {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "J") {
				continue
			}
			jumps++
			// Allow jumps after TEST or CMP of registers, or DEC.
			before := strings.TrimSpace(lines[i-1])
			op, _, _ := strings.Cut(before, " ")
			if !strings.HasPrefix(op, "TESTQ") && op != "CMPQ" && op != "DECQ" || strings.Contains(before, "(") {
				out = append(out, fmt.Sprintf("%s, line %d: %s after %q", name, i+1, line, before))
			}
		}
		if jumps == 0 {
			out = append(out, name+": no jumps found")
		}
	}
	return out
}

// Begin opens a function without a stack frame, whose pointers do not escape,
// and loads the named parameters like Params. The function's comment consists
// of its name and doc. Doc is empty if the type of the function explains it.
func (k Kernels) Begin(name, signature, doc string, params ...string) []reg.GPVirtual {
	k.Function(name)
	k.Attributes(attr.NOSPLIT)
	k.Pragma("noescape")
	k.SignatureExpr(signature)
	if doc != "" {
		k.Doc(name + " " + doc)
	}
	return k.Params(params...)
}

func (k Kernels) End() {
	k.VZEROUPPER()
	k.RET()
}

// Params loads one-word parameters into registers.
func (k Kernels) Params(names ...string) []reg.GPVirtual {
	out := make([]reg.GPVirtual, len(names))
	for i, name := range names {
		out[i] = k.GP64()
		k.Load(k.Param(name), out[i])
	}
	return out
}

func (k Kernels) Address(name string) operand.Mem {
	p, err := k.Param(name).Resolve()
	if err != nil {
		panic(err) // a bug in the generator
	}
	return p.Addr
}

// Count emits a loop that runs `body` n times, counting n down to zero.
func (k Kernels) Count(label string, n reg.GPVirtual, body func()) {
	k.TESTQ(n, n)
	k.JZ(operand.LabelRef(label + "_done"))
	k.Label(label)
	body()
	k.DECQ(n)
	k.JNZ(operand.LabelRef(label))
	k.Label(label + "_done")
}

// Part returns n>>shift in a new register, masked unless `mask` is 0.
func (k Kernels) Part(n reg.GPVirtual, mask, shift int) reg.GPVirtual {
	out := k.GP64()
	k.MOVQ(n, out)
	if mask != 0 {
		k.ANDQ(operand.U32(uint32(mask)), out)
	}
	if shift != 0 {
		k.SHRQ(operand.Imm(uint64(shift)), out)
	}
	return out
}

func (k Kernels) Advance(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		k.ADDQ(operand.U32(uint32(bytes)), p)
	}
}

func At(p reg.Register, off int) operand.Mem { return operand.Mem{Base: p, Disp: off} }
