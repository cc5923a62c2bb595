package graphs

import (
	"path/filepath"
	"strings"
	"testing"

	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/encoder/onnxruntime"
	"cpar/internal/testing/oracle"
)

// ONNX Runtime reads tokens as rows of floats here (convert.floats_in).
func TestTextHalvesMatchONNXRuntime(t *testing.T) {
	l, err := onnxruntime.Open(oracle.Named(t, "CPAR_ONNXRUNTIME"))
	if err != nil {
		t.Fatal(err)
	}
	all, _ := graphs(t)
	for _, g := range all {
		if !g.isText() {
			continue
		}
		t.Run(strings.TrimSuffix(g.File, ".onnx"), func(t *testing.T) {
			const length = 77
			rows, inputs, shapes := []float32{}, map[string][]float32{}, map[string][]int{}
			for i, name := range g.Inputs {
				row := make([]float32, length)
				for k := range row {
					if row[k] = float32(1 + 37*k%900); i == 1 { // a mask
						row[k] = min(float32(length-k)/20, 1) // 1 up to the end of the text
						if row[k] < 1 {
							row[k] = 0
						}
					}
				}
				if i == 0 {
					row[57] = 999 // the end of the text
				}
				inputs[name], shapes[name] = row, []int{1, length}
				rows = append(rows, row...)
			}
			data, err := readChanged(t, g.Reference, g.Changes)
			if err != nil {
				t.Fatal(err)
			}
			s, err := l.Load(data, onnxruntime.Input{Name: "rows", Element: onnx.Float, Shape: []int64{int64(len(g.Inputs)), length}}, g.Embedding)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			want, _, err := s.Run(rows)
			if err != nil {
				t.Fatal(err)
			}
			f, err := onnx.Open(filepath.Join(oracle.Named(t, "CPAR_GRAPHS"), g.File), onnx.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			m, err := onnx.Read(f.Data, onnx.Limits{}, f.External)
			if err != nil {
				t.Fatal(err)
			}
			p, err := engine.Compile(m, engine.Options{Inputs: shapes, Choose: func(func(string) ([]int, bool)) ([]string, error) { return []string{g.Embedding}, nil }})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Run(inputs)
			if err != nil {
				t.Fatal(err)
			}
			norm, worst := distances(got[g.Embedding], want)
			if !(norm <= tolerance && worst <= tolerance) {
				t.Errorf("off by %.1e (%.1e at worst)", norm, worst)
			}
			t.Logf("%d values, off by %.1e (%.1e at worst)", len(want), norm, worst)
		})
	}
}
