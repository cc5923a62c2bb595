package library

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar/photo/metadata"
)

// unwritable returns a name whose sidecar can be planned and not written,
// because the name of the temporary file is too long. Root, too, fails.
func unwritable() string { return strings.Repeat("n", 240) + ".jpg" }

func (w *world) runs() []Run {
	w.t.Helper()
	runs, err := w.open().Runs()
	if err != nil {
		w.t.Fatal(err)
	}
	return runs
}

func TestRunWithoutWrittenFileIsNone(t *testing.T) {
	w := newWorld(t, 0)
	w.paint(unwritable(), 40)
	all, sum := w.annotate(sidecars())
	if all[0].Err == nil || len(all[0].Files)+sum.Files+sum.Written > 0 || sum.Failed != 1 || sum.Run != "" {
		t.Fatalf("%+v, %+v", all[0], sum)
	}
	if runs := w.runs(); len(runs) > 0 {
		t.Errorf("%+v", runs)
	}
	if _, err := w.open().Undo(t.Context(), "", false, nil); err == nil || !strings.Contains(err.Error(), "there is no run to undo") {
		t.Error(err)
	}
	if got := w.open().Machine(w.list[0].Path); len(got) > 0 {
		t.Errorf("nothing was written, and yet %q", got)
	}
}

func TestFailedWriteIsRetriedAndNotCounted(t *testing.T) {
	w := newWorld(t, 2)
	long := w.paint(unwritable(), 45)
	before := w.tree()
	_, sum := w.annotate(sidecars())
	asked := w.questions()
	if runs := w.runs(); len(runs) != 1 || runs[0].Files != 2 || sum.Files != 2 || sum.Failed != 1 || runs[0].Keywords != sum.Keywords {
		t.Fatalf("%+v, %+v", runs, sum)
	}
	// The obstacle is gone: the photo has a sidecar that can be edited in place.
	short := filepath.Join(w.dir, "short.jpg")
	if err := os.Rename(long, short); err != nil {
		t.Fatal(err)
	}
	w.list[2].Path = short
	if all, sum := w.annotate(sidecars()); sum.Written != 1 || sum.Failed != 0 || all[2].Err != nil || w.questions() != asked {
		t.Fatalf("%+v, %d questions after %d", sum, w.questions(), asked)
	}
	if u := w.undo(""); len(u.Restored) != 1 || len(u.Untouched)+len(u.Gone)+len(u.Left) > 0 {
		t.Errorf("%+v", u)
	}
	if u := w.undo(""); len(u.Restored) != 2 || len(u.Untouched)+len(u.Gone)+len(u.Left) > 0 {
		t.Errorf("%+v", u)
	}
	if err := os.Rename(short, long); err != nil || !maps.Equal(before, w.tree()) {
		t.Errorf("not as before (%v)", err)
	}
}

// killed leaves a journal as a process does that is killed after it recorded
// its intents and before it made the last change.
func (w *world) killed(command string) {
	w.t.Helper()
	l := w.open()
	release, err := l.lockShared()
	if err != nil {
		w.t.Fatal(err)
	}
	defer release()
	a := &annotator{l: l, o: sidecars()}
	a.o.Command, a.o.Resume = command, true
	a.choose()
	var records []record
	for i, p := range w.list {
		edit, err := metadata.Plan(p.Path, metadata.Sidecar, metadata.Follow, metadata.Change{Suggest: []string{"sky"}, Run: a.run})
		if err != nil {
			w.t.Fatal(err)
		}
		a.begin(&records)
		records = append(records, record{Intent: a.intent(&target{j: &job{path: p.Path}, edit: edit}, "")})
		if i < len(w.list)-1 {
			if err := edit.Apply(false); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if err := l.remember(records...); err != nil {
		w.t.Fatal(err)
	}
}

func TestKilledRunCountsWhatItWrote(t *testing.T) {
	w := newWorld(t, 1)
	w.killed("one")
	w.undoNothing()
	if runs := w.runs(); len(runs) > 0 {
		t.Errorf("nothing was written, and yet %+v", runs)
	}
	w.paint("more.jpg", 50)
	w.killed("two")
	if u := w.undo(""); len(u.Restored) != 1 || len(u.Untouched)+len(u.Gone) > 0 {
		t.Errorf("%+v", u)
	}
	if runs := w.runs(); len(runs) != 1 || runs[0].Files != 1 || runs[0].Command != "two" {
		t.Errorf("%+v", runs)
	}
}

// undoNothing starts a process that settles the journal.
func (w *world) undoNothing() {
	w.t.Helper()
	if _, err := w.open().Undo(w.t.Context(), "", false, nil); err == nil {
		w.t.Fatal("there was a run to undo")
	}
}

// interrupted annotates and interrupts the run after its first batch is
// written.
func (w *world) interrupted(o Options) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	o.Progress = func(step string, done, _ int) {
		if step == "write" && done == 1 {
			cancel()
		}
	}
	w.lib = w.open()
	if _, err := w.lib.Annotate(ctx, w.index(), w.list, o, func(Result) {}); !errors.Is(err, context.Canceled) {
		w.t.Fatal(err)
	}
}

func TestResumedRunIsOneRun(t *testing.T) {
	o := sidecars()
	o.Resume, o.Command = true, "annotate new"
	other := o
	other.Command = "annotate old"
	for _, c := range []struct {
		name  string
		first func(w *world)
		then  Options
		runs  int
	}{
		{"the same command", func(w *world) { w.interrupted(o) }, o, 1},
		{"another command", func(w *world) { w.interrupted(o) }, other, 2},
		{"an announced call", func(w *world) {
			all, more := w.list, o
			more.More = true
			w.list = all[:16]
			w.annotate(more)
			w.list = all
		}, o, 1},
		{"a run that had ended", func(w *world) {
			all := w.list
			w.list = all[:16]
			w.annotate(o)
			w.list = all
		}, o, 2},
		{"a run that was undone", func(w *world) { w.interrupted(o); w.undo("") }, o, 2},
	} {
		w := newWorld(t, 20)
		before := w.tree()
		c.first(w)
		if got := w.runs(); len(got) != 1 || got[0].Files < 1 || got[0].Files > 16 {
			t.Fatalf("%s: first %+v", c.name, got)
		}
		w.annotate(c.then)
		runs := w.runs()
		if len(runs) != c.runs {
			t.Errorf("%s: %+v", c.name, runs)
		}
		if c.runs == 1 && runs[0].Files != 20 {
			t.Errorf("%s: %+v", c.name, runs)
		}
		w.undo("")
		if c.runs == 2 && !runs[0].Undone {
			w.undo("")
		}
		if !maps.Equal(before, w.tree()) {
			t.Errorf("%s: undo has not taken back all", c.name)
		}
	}
}

func TestKilledRunIsResumed(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	w.killed("annotate new")
	o := sidecars()
	o.Resume, o.Command = true, "annotate new"
	w.annotate(o)
	if runs := w.runs(); len(runs) != 1 {
		t.Errorf("%+v", runs)
	}
	if w.undo(""); !maps.Equal(before, w.tree()) {
		t.Error("undo has not taken back all")
	}
}

func TestUndoneRunBarsNoLaterRun(t *testing.T) {
	fewer := sidecars()
	fewer.MaxKeywords--
	touch := func(w *world) {
		for _, p := range w.list {
			if err := os.Chtimes(p.Path, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		between func(*world)
		then    Options
	}{
		"touched photos":    {touch, sidecars()},
		"a watch meanwhile": {func(w *world) { touch(w); w.follow(sidecars(), w.list) }, sidecars()},
		"fewer keywords":    {func(*world) {}, fewer},
	} {
		w := newWorld(t, 2)
		before := w.tree()
		_, first := w.annotate(sidecars())
		c.between(w)
		if _, sum := w.annotate(c.then); sum.Done != 2 || sum.Files > 0 {
			t.Errorf("%s: everything is written, and yet %+v", name, sum)
		}
		if u := w.undo(first.Run); len(u.Restored) != 2 || !maps.Equal(before, w.tree()) {
			t.Errorf("%s: not as before: %+v", name, u)
		}
		asked := w.questions()
		if _, sum := w.annotate(c.then); sum.Written != 2 || w.questions() != asked {
			t.Errorf("%s: after the undo: %+v, %d questions after %d", name, sum, w.questions(), asked)
		}
		w.undo("")
		other, err := painted(60)
		if err != nil {
			t.Fatal(err)
		}
		w.write(w.list[0].Path, other)
		if _, sum := w.annotate(c.then); sum.Written != 2 || w.questions() == asked {
			t.Errorf("%s: another picture: %+v", name, sum)
		}
	}
	w, o := newWorld(t, 1), sidecars()
	o.MaxKeywords = 1
	all, _ := w.annotate(o)
	word := all[0].Added[0]
	w.undo("")
	decided, err := decide(t, w.open(), Decision{Path: w.list[0].Path, Add: []string{word}}, sidecars())
	if err != nil {
		t.Fatal(err)
	}
	if _, sum := w.annotate(o); sum.Files > 0 {
		t.Errorf("%q is there, and yet %+v", word, sum)
	}
	w.undo(decided.Run)
	if _, sum := w.annotate(o); sum.Written != 1 {
		t.Errorf("after the undo of a decision: %+v", sum)
	}
}
