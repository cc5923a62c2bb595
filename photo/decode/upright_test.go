package decode

import (
	"strings"
	"testing"
)

// Every orientation by definition: the pixels 012 345 as stored, and where they belong.
func TestUpright(t *testing.T) {
	stored := func(y int, rgb []byte) {
		for x := range 3 {
			rgb[3*x] = byte(3*y + x)
		}
	}
	for o, want := range map[orientation]string{
		1: "012 345", 2: "210 543", 3: "543 210", 4: "345 012",
		5: "03 14 25", 6: "30 41 52", 7: "52 41 30", 8: "25 14 03",
	} {
		p := upright(stored, 3, 2, o)
		var rows []string
		for y := range p.Height {
			row := ""
			for x := range p.Width {
				row += string('0' + rune(p.Row(y)[3*x]))
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("orientation %d: %s, want %s", o, got, want)
		}
	}
}
