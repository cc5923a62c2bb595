package lattice

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"cpar"
)

// TestFormatExamples: the examples of FORMAT.md are what is written.
func TestFormatExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Params{Dim: 1344, Block: 128, LogT: 23, RecordNorm: 1411, RequestNorm: 1489, Addend: 336000}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	a := &Reply{Scores: []uint64{1, 2, 1<<28 - 1}}
	for i := range 16 {
		a.Index[i], a.Number[i] = byte(i), byte(16+i)
	}
	for i := range a.State {
		a.State[i] = byte(32 + i)
	}
	params, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"sealed-reply": a.AppendBinary(p, nil), "sealed-parameters": params} {
		_, block, _ := strings.Cut(string(page), "```hex "+name+"\n")
		block, _, _ = strings.Cut(block, "```")
		var digits strings.Builder
		for line := range strings.Lines(block) {
			bytes, _, _ := strings.Cut(line, "#")
			digits.WriteString(strings.Join(strings.Fields(bytes), ""))
		}
		if digits.String() != hex.EncodeToString(want) {
			t.Errorf("%s: FORMAT.md has\n%s\nit is\n%x", name, digits.String(), want)
		}
	}
	if cpar.ParamsBytes != ParamsSize {
		t.Error("a manifest expects parameters of another length")
	}
}
