package metadata

import (
	"bytes"
	"os"
	"testing"
)

func TestSuggestAndUndo(t *testing.T) {
	for _, where := range []Where{Sidecar, Embedded} {
		photo := save(t, "a.jpg", plainJPEG(t))
		before := get(t, photo)
		e := do(t, photo, where, Append, Change{Suggest: []string{"sky", "Küste"}, Run: "r1"})
		equal(t, "added", e.Added, []string{"sky", "Küste"})
		w := read(t, photo)
		equal(t, "human", w.Human, nil)
		equal(t, "machine", w.Machine, []string{"sky", "Küste"})
		if w.Run != "r1" {
			t.Errorf("run %q", w.Run)
		}
		again, err := Plan(photo, where, Append, Change{Suggest: []string{"SKY"}, Run: "r2"})
		if again != nil || err != nil {
			t.Errorf("again: %v %v", again, err)
		}
		gone, err := Retract(e.Path, "r1", e.Added)
		if err != nil {
			t.Fatal(err)
		}
		if where == Sidecar && gone.New != nil || where == Embedded && !bytes.Equal(append(gone.New, before[len(before):]...), e.Old) {
			t.Errorf("%s: something is left: %q", where, gone.New)
		}
		if err := e.Undo().Apply(false); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(get(t, photo), before) {
			t.Errorf("%s: the photo is not what it was", where)
		}
		if _, err := os.Stat(photo + ".xmp"); err == nil {
			t.Error("the sidecar is left")
		}
	}
}
