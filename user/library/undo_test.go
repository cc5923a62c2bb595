package library

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/durable"
	"cpar/model/rank"
	"cpar/photo/metadata"
)

func TestUndoRemovesOnlyWordsOfRun(t *testing.T) {
	w := newWorld(t, 4)
	all, _ := w.annotate(sidecars())
	name := func(i int) string { return w.list[i].Path + ".xmp" }
	b, err := os.ReadFile(name(0))
	if err != nil {
		t.Fatal(err)
	}
	w.write(name(0), []byte(strings.Replace(string(b), "<rdf:Bag>", "<rdf:Bag><rdf:li>theirs</rdf:li>", 1)))
	os.Remove(name(1))
	w.write(name(2), []byte("<broken"))
	u := w.undo("")
	if !slices.Equal(u.Retracted, []string{name(0)}) || !slices.Equal(u.Gone, []string{name(1)}) || !slices.Equal(u.Restored, []string{name(3)}) ||
		len(u.Left) != 1 || u.Left[0].Path != name(2) || u.Left[0].Reason == "" {
		t.Fatalf("%+v", u)
	}
	if got := w.words(w.list[0].Path); len(got) > 0 {
		t.Errorf("still there: %q", got)
	}
	if b, err := os.ReadFile(name(0)); err != nil || !strings.Contains(string(b), "theirs") {
		t.Errorf("other programs' changes are gone: %s, %v", b, err)
	}
	runs, err := w.lib.Runs()
	if err != nil || runs[0].Undone || runs[0].Left != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	// Words left behind still count as machine words.
	l := w.open()
	if len(l.Machine(w.list[2].Path)) == 0 || len(l.Machine(w.list[3].Path)) > 0 {
		t.Errorf("machine: %q, %q", l.Machine(w.list[2].Path), l.Machine(w.list[3].Path))
	}
	// Without the obstacle, the same undo completes.
	os.Remove(name(2))
	if u := w.undo(all[0].Run); len(u.Left) > 0 || len(u.Retracted)+len(u.Restored) > 0 {
		t.Errorf("%+v", u)
	}
	if runs, err = w.lib.Runs(); err != nil || !runs[0].Undone {
		t.Errorf("%+v, %v", runs, err)
	}
}

func TestUndoDryRunChangesNothing(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	w.annotate(sidecars())
	after := w.tree()
	u, err := w.open().Undo(t.Context(), "", true, nil)
	if err != nil || len(u.Restored) != 3 || !maps.Equal(after, w.tree()) {
		t.Errorf("%+v, %v", u, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = w.open().Undo(ctx, "", false, func(_ string, done, _ int) {
		if done == 1 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || maps.Equal(after, w.tree()) {
		t.Fatalf("interrupted: %v", err)
	}
	if u := w.undo(""); len(u.Restored) != 2 || !maps.Equal(before, w.tree()) {
		t.Errorf("taken up again: %+v", u)
	}
}

func TestUndoInAnyOrder(t *testing.T) {
	for _, newestFirst := range []bool{true, false} {
		w := newWorld(t, 2)
		before := w.tree()
		_, first := w.annotate(sidecars())
		o := sidecars()
		o.MaxKeywords = 9
		_, second := w.annotate(o)
		order := []string{first.Run, second.Run}
		if newestFirst {
			slices.Reverse(order)
		}
		for _, run := range order {
			w.undo(run)
		}
		if newestFirst && !maps.Equal(before, w.tree()) {
			t.Error("not as before")
		}
		if got := w.words(w.list[0].Path); len(got) > 0 {
			t.Errorf("newest first %v: %q are left", newestFirst, got)
		}
	}
}

// A process is killed before, during or after writing a file.
func TestNextRunSettlesKilledProcess(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	l := w.open()
	if err := l.refresh(); err != nil {
		t.Fatal(err)
	}
	for i, p := range w.list {
		e, err := metadata.Plan(p.Path, metadata.Sidecar, metadata.Follow, metadata.Change{Suggest: []string{"word"}, Run: "killed"})
		if err != nil {
			t.Fatal(err)
		}
		in := newIntent("killed", e)
		in.Photo, in.Want = p.Path, "want"
		if err := l.remember(record{Began: beginning("killed", "", false)}, record{Intent: in}); err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0: // written but not recorded
			if err := e.Apply(false); err != nil {
				t.Fatal(err)
			}
		case 1: // partly written
			tmp, err := durable.Create(durable.OS, w.dir, filepath.Base(e.Path), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			tmp.Write([]byte("half"))
		}
	}
	next := w.open()
	release, err := next.lockShared()
	if err != nil {
		t.Fatal(err)
	}
	release()
	if !next.mem.annotated(w.list[0].Path, digest{}, "want", true) || next.mem.annotated(w.list[1].Path, digest{}, "want", true) {
		t.Error("written and unwritten files are not distinguished")
	}
	if entries, err := os.ReadDir(w.dir); err != nil || len(entries) != 4 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if got := next.mem.wroteTo(w.list[1].Path, true); len(got) > 0 {
		t.Errorf("%v counts as written", got)
	}
	if u := w.undo("killed"); len(u.Restored) != 1 || len(u.Gone) != 0 || !maps.Equal(before, w.tree()) {
		t.Errorf("%+v", u)
	}
}

// Forget drops undo data but keeps the record of machine words.
func TestForgetKeepsMachineWords(t *testing.T) {
	w := newWorld(t, 3)
	all, first := w.annotate(sidecars())
	o := sidecars()
	o.MaxKeywords = 9
	_, second := w.annotate(o)
	asked := w.questions()
	l := w.open()
	if ids, err := l.Forget([]string{first.Run}, true); err != nil || !slices.Equal(ids, []string{first.Run}) {
		t.Fatal(ids, err)
	}
	if _, err := l.Forget([]string{"none"}, false); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	release, err := w.open().lockShared()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(nil, false); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("forgotten while another works: %v", err)
	}
	release()
	before, _ := l.journal.Size()
	if ids, err := l.Forget([]string{first.Run}, false); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	if after, _ := l.journal.Size(); after >= before {
		t.Errorf("%d bytes, and %d before", after, before)
	}
	l = w.open()
	if _, err := l.Undo(t.Context(), first.Run, false, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("undone although forgotten: %v", err)
	}
	for _, word := range all[0].Added {
		if !slices.Contains(l.Machine(w.list[0].Path), word) {
			t.Errorf("%q is learnt from", word)
		}
	}
	if u := w.undo(""); u.Run != second.Run || len(u.Restored) != 3 {
		t.Errorf("%+v", u)
	}
	if w.annotate(sidecars()); w.questions() != asked {
		t.Error("answers were forgotten, too")
	}
	// Above its bound the journal is compacted and may grow again.
	l = w.open()
	l.keep = 1000
	for range 2 {
		if release, err = l.lockShared(); err != nil {
			t.Fatal(err)
		}
		release()
	}
	if runs, err := l.Runs(); err != nil || !runs[0].Forgotten || runs[len(runs)-1].Forgotten || l.mem.bound == 0 {
		t.Errorf("%+v, %v, bound %d", runs, err, l.mem.bound)
	}
}

func TestUndoSkipsDamagedRecords(t *testing.T) {
	w := newWorld(t, 20)
	w.annotate(sidecars())
	logs, err := filepath.Glob(filepath.Join(w.dev.State, "library", "*", "logs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range logs {
		if b, err := os.ReadFile(path); err == nil && len(b) > 3000 {
			at := 0
			for range 2 { // answers of two batches, then intents of the first
				at += 8 + int(binary.LittleEndian.Uint32(b[at:]))
			}
			b[at+100] ^= 1
			w.write(path, b)
		}
	}
	u := w.undo(w.lastRun())
	if u.Damaged != 1 || len(u.Restored) == 0 || len(u.Restored) > 4 {
		t.Errorf("%d restored, %d damaged", len(u.Restored), u.Damaged)
	}
}

func (w *world) lastRun() string {
	runs, err := w.open().Runs()
	if err != nil || len(runs) == 0 {
		w.t.Fatal(runs, err)
	}
	return runs[len(runs)-1].ID
}

func TestStateIsEncrypted(t *testing.T) {
	w := newWorld(t, 3)
	all, _ := w.annotate(sidecars())
	n := 0
	err := filepath.WalkDir(w.dev.State, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		b, err := os.ReadFile(path)
		for _, s := range append([]string{"p00.jpg", ".xmp", "keywords"}, all[0].Added...) {
			if len(s) > 3 && strings.Contains(string(b)+path, s) {
				t.Errorf("%q is in %s", s, path)
			}
		}
		return err
	})
	if err != nil || n < 3 {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestNewRunReturnsUniqueIDs(t *testing.T) {
	l := &Library{mem: newMemory()}
	seen := map[string]bool{}
	for range 100 {
		id := l.newRun()
		if len(id) != 13 || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id], l.mem.runs[id] = true, &run{}
	}
	if len(seen) != 100 {
		t.Error(fmt.Sprint(len(seen)))
	}
}

func TestUndoKeepsRunWhileDiskIsAway(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	_, sum := w.annotate(sidecars())
	away := w.dir + "-away"
	for _, mountPoint := range []bool{false, true} {
		if err := os.Rename(w.dir, away); err != nil {
			t.Fatal(err)
		}
		if mountPoint { // the mount point stays as an empty folder
			if err := os.Mkdir(w.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		u := w.undo(sum.Run)
		if len(u.Left) != 3 || len(u.Gone) > 0 || !strings.Contains(u.Left[0].Reason, "disk") {
			t.Fatalf("mount point %v: %+v", mountPoint, u)
		}
		if runs, err := w.open().Runs(); err != nil || runs[0].Undone || runs[0].Left != 3 {
			t.Errorf("mount point %v: %+v, %v", mountPoint, runs, err)
		}
		os.Remove(w.dir)
		if err := os.Rename(away, w.dir); err != nil {
			t.Fatal(err)
		}
	}
	if u := w.undo(""); u.Run != sum.Run || len(u.Restored) != 3 || !maps.Equal(before, w.tree()) {
		t.Errorf("back: %+v", u)
	}
}

func TestUndoRejectsRunInProgress(t *testing.T) {
	w := newWorld(t, 20) // two batches
	before := w.tree()
	other, refused := w.open(), 0
	o := sidecars()
	o.Suggest = func(string, []rank.Keyword) ([]string, error) { // called before a batch is written
		if runs, err := other.Runs(); err != nil || len(runs) == 0 {
			return nil, err
		}
		if u, err := other.Undo(t.Context(), "", false, nil); !errors.Is(err, cpar.ErrStorage) || len(u.Restored) > 0 {
			t.Errorf("undone while it is written: %d files, %v", len(u.Restored), err)
		}
		refused++
		return nil, nil
	}
	_, sum := w.annotate(o)
	if refused != 4 {
		t.Fatalf("%d photos were written after the first batch", refused)
	}
	if u := w.undo(""); u.Run != sum.Run || len(u.Restored) != sum.Files || !maps.Equal(before, w.tree()) {
		t.Errorf("%d of %d restored", len(u.Restored), sum.Files)
	}
}

// An ended run can be undone while others run. A killed run can be undone once
// the others have ended.
func TestUndoEndedRunBesideOthers(t *testing.T) {
	w := newWorld(t, 1)
	_, sum := w.annotate(sidecars())
	l := w.open()
	release, err := l.lockShared()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.remember(record{Began: beginning("killed", "", false)}, record{Decided: &decided{Run: "killed", Photo: "p"}}); err != nil {
		t.Fatal(err)
	}
	if u := w.undo(sum.Run); len(u.Restored) != 1 {
		t.Errorf("%+v", u)
	}
	if _, err := w.open().Undo(t.Context(), "killed", false, nil); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("perhaps at work: %v", err)
	}
	release()
	if u := w.undo("killed"); len(u.Left) > 0 {
		t.Errorf("%+v", u)
	}
}

func TestWordsWrittenAfterUndoCanBeUndone(t *testing.T) {
	m := newMemory()
	for _, r := range []record{{Began: &began{Run: "r"}}, {Undone: &undone{Run: "r", Left: []string{"b"}}}, {Undone: &undone{Run: "r"}}, {Intent: &intent{Run: "r", Photo: "a"}}} {
		m.take(&r)
	}
	if r := m.runs["r"]; r.undone || !m.alive("r", "a") {
		t.Errorf("%+v", r)
	}
}

// An undo of the last run must not reach past it to an older run.
func TestUndoOfLastRunLeavesOlderRuns(t *testing.T) {
	w := newWorld(t, 2)
	_, first := w.annotate(sidecars())
	last := func() string {
		t.Helper()
		r, err := w.open().ToUndo("")
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	refused := func(why string) {
		t.Helper()
		if r, err := w.open().ToUndo(""); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v, %v, want %q", r, err, why)
		}
	}
	w.paint("more.jpg", 50)
	_, second := w.annotate(sidecars())
	if second.Files != 1 || last() != second.Run {
		t.Fatalf("%+v", second)
	}
	w.annotate(sidecars())
	refused("it wrote nothing")
	if runs := w.runs(); len(runs) != 2 {
		t.Errorf("a run that wrote nothing is listed: %+v", runs)
	}
	w.undo(second.Run)
	o := sidecars()
	o.Again = true
	_, third := w.annotate(o)
	if last() != third.Run {
		t.Errorf("%+v", third)
	}
	w.undo(third.Run)
	refused("it is undone")
	w.undo(first.Run)
	refused("there is no run to undo")
}
