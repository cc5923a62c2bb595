package keyword

import (
	"bytes"
	"testing"

	"cpar/internal/testing/formatdoc"
)

func TestFormatExamples(t *testing.T) {
	examples := formatdoc.Examples(t, "../../../docs/FORMAT.md")
	table := &Table{budget: 8, epoch: 7, amended: map[int][]uint16{3: {9}, 200: {}}}
	for _, numbers := range [][]uint16{{5, 0}, {}, {2}} {
		table.lists.add(numbers)
	}
	b, a := table.plainPage(0), table.plainAmendments()
	for name, want := range map[string][][]byte{
		// The listed bytes, then zeros.
		"tail":       {b[:3], b[3:pageRecords], b[pageRecords : pageRecords+6], b[pageRecords+6:]},
		"amendments": {a[:22], a[22:]},
	} {
		var there []byte
		for i, part := range want {
			if i%2 == 0 {
				there = append(there, part...)
			} else if len(bytes.Trim(part, "\x00")) > 0 {
				t.Errorf("%s: part %d is not zero: %x", name, i, part)
			}
		}
		if got := examples["sealed-keyword-"+name]; !bytes.Equal(got, there) {
			t.Errorf("%s: FORMAT.md has\n%x\nit is\n%x", name, got, there)
		}
	}
}
