package library

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"cpar/photo/metadata"
)

func TestRecallSendsNoRequest(t *testing.T) {
	w := newWorld(t, 20)
	o := sidecars()
	o.Where = ""
	recall := func() []Result {
		t.Helper()
		all, err := w.lib.Recall(context.Background(), w.index(), w.list, o)
		if err != nil || len(all) != len(w.list) {
			t.Fatal(len(all), err)
		}
		return all
	}
	for i, r := range recall() {
		if r.Known || r.Err != nil || len(r.Keywords) > 0 || r.Path != w.list[i].Path {
			t.Errorf("before: %+v", r)
		}
	}
	if w.questions() != 0 {
		t.Errorf("%d questions", w.questions())
	}
	w.alter = func(b []byte) { b[len(b)-9] ^= 0x10 }
	told, _ := w.annotate(o)
	asked := w.questions()
	for i, r := range recall() {
		if refused := told[i].Err != nil; r.Known == refused || r.Err != nil || !slices.Equal(r.Keywords, told[i].Keywords) {
			t.Errorf("photo %d: %+v, was %+v", i, r, told[i])
		}
	}
	// An embedded write and its undo change the file but not the picture.
	if w.questions() != asked {
		t.Errorf("%d questions more", w.questions()-asked)
	}
	o.Where, w.alter = metadata.Embedded, nil
	told, _ = w.annotate(o)
	asked = w.questions()
	before := w.tree()
	w.undo("")
	if len(told[1].Files) == 0 || maps.Equal(before, w.tree()) {
		t.Fatalf("nothing was written: %+v", told[1])
	}
	o.Where = ""
	if r := recall()[1]; !r.Known || !slices.Equal(r.Keywords, told[1].Keywords) {
		t.Errorf("after an undo: %+v, was %+v", r, told[1])
	}
	// Another file with this name is another photo.
	w.paint("p00.jpg", 33)
	if r := recall()[0]; r.Known {
		t.Errorf("of another photo: %+v", r)
	}
	if w.questions() != asked {
		t.Errorf("%d questions more", w.questions()-asked)
	}
}

func TestConcurrentProcessesShareJournal(t *testing.T) {
	w := newWorld(t, 0)
	both := []*Library{w.open(), w.open()}
	var writers sync.WaitGroup
	var written atomic.Int32
	for n, l := range both {
		if err := l.refresh(); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for i := range 50 {
				run := fmt.Sprint(n, i)
				err := l.remember(record{Began: beginning(run, "", false)}, record{Decided: &decided{Run: run, Photo: run}})
				least := written.Add(1)
				runs, e := l.Runs()
				if err != nil || e != nil || len(runs) < int(least) {
					t.Errorf("process %d knows of %d runs of %d, %v, %v", n, len(runs), least, err, e)
				}
			}
		})
	}
	writers.Wait()
	for n, l := range both {
		if runs, err := l.Runs(); err != nil || len(runs) != 100 {
			t.Errorf("process %d knows of %d runs, %v", n, len(runs), err)
		}
	}
	// A single process need not read its own records again.
	l := both[0]
	if err := l.remember(record{Began: beginning("last", "", false)}); err != nil || l.read < 0 {
		t.Error(l.read, err)
	}
}
