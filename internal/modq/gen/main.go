// Command gen writes the kernels of package modq in Go assembly: for each processor level
// one file of kernels and one of declarations.
//
//	go generate cpar/internal/modq
//
// No kernel branches on the words it multiplies or uses them as addresses; none calls
// anything or has a stack frame. All read only their slices. A prefetch may name an
// address beyond them, on which no processor faults.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	dir := flag.String("dir", ".", "folder of package modq")
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

// generate returns the text of each file by name.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, level := range []struct {
		name  string
		write func(kernels)
	}{{"avx512", avx512}, {"avx2", avx2}} {
		c := build.NewContext()
		c.ConstraintExpr("!purego")
		level.write(kernels{c})
		file, err := c.Result()
		if err != nil {
			return nil, fmt.Errorf("writing the kernels for %s: %w", level.name, err)
		}
		if err := pass.Compile.Execute(file); err != nil {
			return nil, fmt.Errorf("compiling the kernels for %s: %w", level.name, err)
		}
		cfg := printer.Config{Name: "internal/modq/gen", Pkg: "modq"}
		for suffix, p := range map[string]printer.Printer{
			"_amd64.s": printer.NewGoAsm(cfg), "_amd64.go": printer.NewStubs(cfg),
		} {
			text, err := p.Print(file)
			if err != nil {
				return nil, fmt.Errorf("printing %s%s: %w", level.name, suffix, err)
			}
			files[level.name+suffix] = bytes.TrimLeft(text, "\n")
		}
	}
	return files, nil
}

// kernels is the common vocabulary of both levels: avo's context and a few idioms.
type kernels struct{ *build.Context }

// begin opens a function without a frame; its pointers do not escape.
func (k kernels) begin(name, signature, doc string) {
	k.Function(name)
	k.Attributes(attr.NOSPLIT)
	k.Pragma("noescape")
	k.SignatureExpr(signature)
	k.Doc(doc)
}

// params loads one-word parameters into registers.
func (k kernels) params(names ...string) []reg.GPVirtual {
	out := make([]reg.GPVirtual, len(names))
	for i, name := range names {
		out[i] = k.GP64()
		k.Load(k.Param(name), out[i])
	}
	return out
}

// count emits a loop that runs body n times, counting n down to zero.
func (k kernels) count(label string, n reg.GPVirtual, body func()) {
	k.TESTQ(n, n)
	k.JZ(operand.LabelRef(label + "_done"))
	k.Label(label)
	body()
	k.DECQ(n)
	k.JNZ(operand.LabelRef(label))
	k.Label(label + "_done")
}

// part returns n>>shift in a new register, only its low bits if mask is not 0.
func (k kernels) part(n reg.GPVirtual, mask, shift int) reg.GPVirtual {
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

func (k kernels) advance(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		k.ADDQ(operand.U32(uint32(bytes)), p)
	}
}

// at is the word or vector at p + off bytes.
func at(p reg.Register, off int) operand.Mem { return operand.Mem{Base: p, Disp: off} }

// gather emits the row loop of Gather. product emits one row, at a, with x; ahead is the
// address of the next row, or of the last row itself.
func (k kernels) gather(product func(a, x, n, ahead reg.GPVirtual, dst operand.Mem)) {
	p := k.params("dst", "matrix", "index", "rows", "n")
	dst, matrix, index, rows, n := p[0], p[1], p[2], p[3], p[4]
	row := func(number operand.Mem) reg.GPVirtual {
		r := k.GP64()
		k.MOVL(number, r.As32())
		k.IMULQ(n, r)
		k.LEAQ(operand.Mem{Base: matrix, Index: r, Scale: 8}, r)
		return r
	}
	k.TESTQ(rows, rows)
	k.JZ(operand.LabelRef("gather_end"))
	next := row(at(index, 0))
	k.Label("gather_row")
	a, ahead := k.GP64(), k.GP64()
	k.MOVQ(next, a)
	k.CMPQ(rows, operand.Imm(1))
	k.JE(operand.LabelRef("gather_last"))
	k.MOVQ(row(at(index, 4)), next)
	k.Label("gather_last")
	k.MOVQ(next, ahead)
	product(a, k.params("x")[0], n, ahead, at(dst, 0))
	k.advance(8, dst)
	k.advance(4, index)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("gather_row"))
	k.Label("gather_end")
	k.VZEROUPPER()
	k.RET()
}
