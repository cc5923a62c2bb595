//go:build unix

package graphs

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cpar/encoder"
	"cpar/internal/testing/oracle"
)

var (
	docs = flag.String("docs", "", "write the page of networks to this file, with times (some minutes)")
	avx2 = flag.String("avx2", "", "end the page with the summary of this page, written with AVX2 alone")
)

// TestTable prints the table of docs/networks.md: networks, errors, and times
// on one core beside ONNX Runtime.
func TestTable(t *testing.T) {
	oracle.Named(t, "CPAR_ONNXRUNTIME")
	if *docs == "" {
		t.Skip("needs -docs FILE")
	}
	all, byFile := graphs(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	page := pageHead
	var full []float64 // ratios of the networks marked ●
	for _, g := range all {
		if g.Form != "" || g.isText() || strings.HasSuffix(g.Network, "-plain") || strings.HasSuffix(g.Network, "-visual") {
			continue // forms and references have no row
		}
		row, ratio := g.row(t, byFile)
		if g.Full {
			full = append(full, ratio)
		}
		fmt.Println(row)
		page += row + "\n"
	}
	slices.Sort(full)
	n := len(full)
	page += fmt.Sprintf("\nThe %d networks marked ● have ratios of %.2f to %.2f, with a median of %.2f.\n",
		n, full[0], full[n-1], (full[(n-1)/2]+full[n/2])/2)
	if *avx2 != "" {
		b, err := os.ReadFile(*avx2)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		page += "With AVX2 alone, in another run, t" + lines[len(lines)-1][1:] + "\n"
	}
	if err := os.WriteFile(*docs, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

const pageHead = `# Networks

Which image networks run in plain Go, compared with ONNX Runtime 1.22 and the same weights. The files are made by
[export.py](../encoder/graphs/export.py), which exports the structure of the originals with random weights; those of the original size are
marked ●, the others are narrower and shallower. Errors are ‖a−b‖/‖b‖ of the embedding; half precision is compared with single precision. A
time is the least CPU time of five to sixty turns for one image on one core; both runtimes took turns in one run, on an Intel Xeon with AMX
(Sapphire Rapids). ONNX Runtime has no switch to select AVX2, so a byte of a copy of its library was changed for the figures with AVX2
alone, below the table. Other forms of the same networks (opsets 11 to 23, other exporters, bytes and rows of pixels, data in other files,
text halves) have no row: TestNetworks and TestTextHalvesMatchONNXRuntime hold them to the same bound, 10⁻⁴. A process that embeds with CLIP
ViT-B/32 takes 0.45 GB of its own (TestMemory; 1.2 are accepted).

Three of the narrower ones were also measured in their original size (export.py FOLDER PATTERN --full). The ratios are CPAR's CPU time
divided by ONNX Runtime's. The last column is the time for one image on two cores divided by the time on one, with AVX-512 and with AVX2
(BenchmarkNetworks). It is about 1 for VGG16, because convolutions run on one core:

| network | embedding | error | ratio, AVX-512 | ratio, AVX2 | two cores |
|---|---|---|---|---|---|
| VGG16 | 4096 | 3e-06 | 0.96 to 0.99 | 0.66 to 0.69 | 1.00 and 1.02 |
| ViT-B/16 | 768 | 1e-06 | 1.10 to 1.30 | 1.07 to 1.11 | 0.57 and 0.54 |
| SigLIP-B/16 | 768 | 1e-06 | 1.18 to 1.23 | 1.07 to 1.15 | 0.59 and 0.57 |

## Instructions on arm64

We measured no times on an arm64 processor. The table shows instead how many instructions one call executes in plain Go and with NEON,
rounded to three digits. A ratio is not a speed-up, because instructions differ in duration. Vectors have 3,136 values. A plugin for
qemu-aarch64 7.2, from Debian's qemu-user, counts the instructions (qemu-user-static accepts no plugins). The last command counts the last
row with NEON, and in plain Go with -tags static,purego:

    gcc -shared -fPIC -O2 -o /tmp/count.so internal/testing/instructions/testdata/count.c
    export CPAR_INSTRUCTIONS=/tmp/count GOARCH=arm64 CGO_ENABLED=0
    go test -exec "qemu-aarch64 -plugin /tmp/count.so" ./internal/f32 -run TestInstructions -v
    go test -exec "qemu-aarch64 -plugin /tmp/count.so" -tags static ./encoder -run TestInstructions -v

| call | plain Go | NEON | ratio |
|---|---|---|---|
| linear layer, 50×768 · 768×3072 | 468,000,000 | 34,800,000 | 13.5 |
| convolution, 64×576 · 576×3136 | 312,000,000 | 34,800,000 | 9.0 |
| attention, 197×64 · 64×197 | 9,380,000 | 974,000 | 9.6 |
| float64, 64×512 · 512×120 | 36,400,000 | 3,290,000 | 11.1 |
| depthwise convolution, 9 taps | 266,000 | 14,100 | 18.8 |
| Dot | 17,400 | 1,540 | 11.3 |
| Axpy | 22,000 | 1,690 | 13.1 |
| Line | 61,800 | 3,860 | 16.0 |
| Times | 34,600 | 1,690 | 20.4 |
| Larger (pools) | 34,600 | 1,690 | 20.4 |
| Largest (softmax) | 28,300 | 2,080 | 13.6 |
| AddTo64 | 25,200 | 5,210 | 4.8 |
| Centre | 31,500 | 8,370 | 3.8 |
| Exp (softmax) | 248,000 | 22,100 | 11.2 |
| Erf | 264,000 | 44,400 | 5.9 |
| Tanh | 270,000 | 37,800 | 7.2 |
| Sigmoid | 292,000 | 24,400 | 11.9 |
| Gelu | 296,000 | 48,000 | 6.2 |
| the bundled network, one image | 1,190,000,000 | 155,000,000 | 7.7 |

## All networks

This page is written by

    CPAR_GRAPHS=FOLDER CPAR_ONNXRUNTIME=FILE go test ./encoder/graphs -run TestTable -docs ../../docs/networks.md -avx2 PAGE

PAGE was written before by the same command, with GODEBUG=cpu.avx512f=off and without -avx2.

| network | opset | loads | error, single | error, half | ms Go / ONNX Runtime | ratio | embedding by default |
|---|---|---|---|---|---|---|---|
`

// row returns a row of the table and the ratio of its times.
func (g graph) row(t *testing.T, byFile map[string]graph) (string, float64) {
	mark := ""
	if g.Full {
		mark = " ●"
	}
	e, err := g.open(t, encoder.Go, "")
	if err != nil {
		t.Log(g.File, err)
		return fmt.Sprintf("| %s%s | %d | no | | | | | |", g.Network, mark, g.Opset), 0
	}
	c := e.Choice()
	name, size := c.Name, c.Size
	inGo, inORT := g.times(t, e, byFile)
	h := cmp.Or(byFile[g.Network+".fp16.onnx"].File, byFile[g.Network+".fp16-io32.onnx"].File)
	half := ""
	if h != "" {
		half = byFile[h].error(t, byFile)
	}
	return fmt.Sprintf("| %s%s | %d | yes | %s | %s | %.1f / %.1f | %.2f | `%s`, %d |", g.Network, mark, g.Opset, g.error(t, byFile), half,
		inGo, inORT, inGo/inORT, name, size), inGo / inORT
}

func (g graph) error(t *testing.T, byFile map[string]graph) string {
	e, err := g.open(t, encoder.Go, "")
	if err != nil {
		return "no"
	}
	image, want := g.expected(t, byFile)
	got, err := e.Embed(image)
	if err != nil {
		return "no"
	}
	norm, _ := distances(got, want[:min(len(want), len(got))])
	return fmt.Sprintf("%.0e", norm)
}

// times returns the best CPU times per image in milliseconds. It measures the
// runtimes in turns because other load slows both.
func (g graph) times(t testing.TB, e encoder.Embedder, byFile map[string]graph) (inGo, inORT float64) {
	reference := byFile[g.Reference]
	image, same := g.pictures()
	r := g.reference(t, reference)
	inGo, inORT = 1e9, 1e9
	one := func(e encoder.Embedder, image []float32, best *float64) {
		start := cpuTime(t)
		if _, err := e.Embed(image); err != nil {
			t.Fatal(err)
		}
		*best = min(*best, (cpuTime(t)-start).Seconds()*1000)
	}
	begun := time.Now()
	for i := 0; i < 5 || i < 60 && time.Since(begun) < 2*time.Second; i++ {
		one(e, image, &inGo)
		one(r, same, &inORT)
	}
	return inGo, inORT
}

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkNetworks(b *testing.B) {
	oracle.Named(b, "CPAR_ONNXRUNTIME")
	all, byFile := graphs(b)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, g := range all {
		if !g.Full || g.Form != "" {
			continue
		}
		b.Run(g.Network, func(b *testing.B) {
			e, err := g.open(b, encoder.Go, "")
			if err != nil {
				b.Fatal(err)
			}
			var inGo, inORT float64
			n := 0
			for b.Loop() {
				x, y := g.times(b, e, byFile)
				inGo, inORT, n = inGo+x, inORT+y, n+1
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(inGo/float64(n), "ms-go")
			b.ReportMetric(inORT/float64(n), "ms-ort")
			b.ReportMetric(inGo/inORT, "ratio")
			b.ReportMetric(g.twoCores(b), "two-cores")
		})
	}
}

// twoCores returns the least time of an image on two cores, divided by the least
// time on one.
func (g graph) twoCores(b *testing.B) float64 {
	runtime.GOMAXPROCS(2) // opening a network reserves memory for the cores
	defer runtime.GOMAXPROCS(1)
	e, err := g.open(b, encoder.Go, "")
	if err != nil {
		b.Fatal(err)
	}
	image, _ := g.pictures()
	least := [...]float64{1: 1e9, 2: 1e9}
	for range 10 {
		for cores := 1; cores <= 2; cores++ {
			runtime.GOMAXPROCS(cores)
			start := time.Now()
			if _, err := e.Embed(image); err != nil {
				b.Fatal(err)
			}
			least[cores] = min(least[cores], time.Since(start).Seconds())
		}
	}
	return least[2] / least[1]
}
