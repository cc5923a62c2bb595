package lattice

import (
	"bytes"
	"testing"

	"cpar"
	"cpar/internal/testing/formatdoc"
)

func TestEncodingsMatchFormatExamples(t *testing.T) {
	examples := formatdoc.Examples(t, "../../docs/FORMAT.md")
	p, err := Params{LogN: 11, Dim: 1344, Block: 128, LogT: 16, RecordNorm: 161, RequestNorm: 173, Addend: 4380}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	a := &Reply{Words: make([]uint64, p.Records())}
	a.Words[0], a.Words[1], a.Words[15] = 1, 2, 1<<40
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
	for name, want := range map[string][]byte{"sealed-reply": a.AppendBinary(p, nil, 0), "sealed-parameters": params} {
		if got := examples[name]; !bytes.Equal(got, want) {
			t.Errorf("%s: FORMAT.md has\n%x\nit is\n%x", name, got, want)
		}
	}
	if cpar.ParamsBytes != ParamsSize {
		t.Error("a manifest expects parameters of another length")
	}
}
