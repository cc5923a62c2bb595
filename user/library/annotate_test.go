package library

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/photo/metadata"
	"cpar/user/device"
)

func TestAnnotateAndUndo(t *testing.T) {
	w := newWorld(t, 20)
	w.write(w.list[3].Path+".xmp", []byte(`<?xml version="1.0"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>grandmother's garden</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>`))
	before := w.tree()
	for _, where := range []metadata.Where{metadata.Sidecar, metadata.Embedded} {
		o := sidecars()
		o.Where = where
		asked := w.questions()
		all, sum := w.annotate(o)
		if sum.Run == "" || sum.Done != 20 || sum.Written != 20 || sum.Files != 20 || sum.Failed != 0 || sum.Keywords == 0 {
			t.Fatalf("%s: %+v", where, sum)
		}
		if want := map[metadata.Where]int{metadata.Sidecar: 2}[where]; w.questions()-asked != want { // known by content
			t.Errorf("%s: %d questions, want %d", where, w.questions()-asked, want)
		}
		for i, r := range all {
			if r.Path != w.list[i].Path || r.Err != nil || len(r.Keywords) == 0 || len(r.Keywords) > 4 || len(r.Files) != 1 || r.Run != sum.Run || len(r.Near) == 0 {
				t.Fatalf("%s: photo %d: %+v", where, i, r)
			}
			if got := w.words(r.Path); !slices.Equal(got, sorted(r.Added)) {
				t.Errorf("%s: photo %d has %q, reported %q", where, i, got, r.Added)
			}
			if got := w.lib.Machine(r.Path); !slices.Equal(got, sorted(r.Added)) {
				t.Errorf("%s: photo %d: machine %q, reported %q", where, i, got, r.Added)
			}
		}
		after := w.tree()
		asked = w.questions()
		again, sum2 := w.annotate(o)
		if w.questions() != asked || sum2.Run != "" || sum2.Known != 20 || sum2.Written != 0 || !maps.Equal(after, w.tree()) {
			t.Errorf("%s: once more: %d questions, %+v", where, w.questions()-asked, sum2)
		}
		for i, r := range again {
			if !r.Finished || !r.Known || r.Asked.Sent > 0 || len(r.Keywords) != len(all[i].Keywords) || r.Keywords[0].Word != all[i].Keywords[0].Word {
				t.Fatalf("%s: once more: photo %d: %+v", where, i, r)
			}
		}
		u := w.undo("")
		if len(u.Restored) != 20 || u.Run != sum.Run || len(u.Left)+len(u.Gone)+len(u.Retracted)+len(u.Untouched) > 0 {
			t.Errorf("%s: undone: %+v", where, u)
		}
		if !maps.Equal(before, w.tree()) {
			t.Errorf("%s: not as before", where)
		}
		if got := w.open().Machine(w.list[0].Path); len(got) > 0 {
			t.Errorf("%s: undone, and still machine's: %q", where, got)
		}
	}
	runs, err := w.lib.Runs()
	if err != nil || len(runs) != 2 || runs[0].Files != 20 || runs[0].Keywords == 0 || runs[1].ID == runs[0].ID {
		t.Errorf("%+v, %v", runs, err)
	}
	if again := w.undo(runs[0].ID); len(again.Restored)+len(again.Retracted)+len(again.Left) > 0 {
		t.Errorf("undone twice: %+v", again)
	}
	if _, err := w.lib.Undo(t.Context(), "", false, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("nothing is left to undo: %v", err)
	}
	if _, err := w.lib.Undo(t.Context(), "no such run", false, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("%v", err)
	}
}

// A photo moved, copied or given another keyword keeps its identity.
func TestMovedPhotoIsKnownByContent(t *testing.T) {
	w := newWorld(t, 3)
	w.annotate(sidecars())
	asked := w.questions()
	moved := filepath.Join(w.dir, "elsewhere", "other.jpg")
	b, err := os.ReadFile(w.list[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(moved, b)
	os.Remove(w.list[0].Path)
	w.list[0].Path = moved
	all, sum := w.annotate(sidecars())
	if w.questions() != asked || sum.Known != 3 || sum.Written != 1 || all[0].Finished || !all[1].Finished {
		t.Errorf("%d questions, %+v, %+v", w.questions()-asked, sum, all[0])
	}
	o := sidecars()
	o.Again = true
	if _, sum := w.annotate(o); w.questions() != asked+1 || sum.Known != 0 || sum.Written != 0 {
		t.Errorf("again: %d questions, %+v", w.questions()-asked, sum)
	}
	// With a higher limit, words are added without a request.
	o = sidecars()
	o.MaxKeywords = 8
	if _, sum := w.annotate(o); w.questions() != asked+1 || sum.Written == 0 {
		t.Errorf("more words: %d questions, %+v", w.questions()-asked, sum)
	}
}

func TestRemovedWordIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t, 1)
	all, _ := w.annotate(sidecars())
	word := all[0].Added[0]
	e, err := metadata.Retract(w.list[0].Path+".xmp", "", []string{word})
	if err != nil || e == nil {
		t.Fatal(e, err)
	}
	if err := e.Apply(false); err != nil {
		t.Fatal(err)
	}
	o := sidecars()
	o.MaxKeywords = 12
	w.annotate(o)
	if got := w.words(w.list[0].Path); slices.Contains(got, word) || len(got) < len(all[0].Added) {
		t.Errorf("%q was taken away: %q", word, got)
	}
}

func TestAlteredReplyFailsPhoto(t *testing.T) {
	w := newWorld(t, 20)
	w.alter = func(b []byte) { b[len(b)-9] ^= 0x10 }
	all, sum := w.annotate(sidecars())
	refused := 0
	for _, r := range all {
		if r.Err != nil {
			refused++
			if !errors.Is(r.Err, cpar.ErrCloud) || len(r.Files) > 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	if w.questions() != 2 || refused == 0 || sum.Failed != refused || sum.Done != 20-refused {
		t.Fatalf("%d questions, %d refused, %+v", w.questions(), refused, sum)
	}
	w.alter = nil
	if _, sum := w.annotate(sidecars()); sum.Failed != 0 || sum.Known != 20-refused || sum.Written != refused || w.questions() == 2 {
		t.Errorf("again: %d questions, %+v", w.questions(), sum)
	}
	// OnErrors ends a run if the cloud sends false replies.
	w.alter = func(b []byte) { b[len(b)-9] ^= 0x10 }
	o := sidecars()
	o.Again, o.OnErrors = true, 0
	if _, _, err := w.try(o); !errors.Is(err, ErrStopped) {
		t.Errorf("lied to: %v", err)
	}
}

func TestOnErrorsStopsRun(t *testing.T) {
	w := newWorld(t, 40)
	for _, i := range []int{2, 5, 30} {
		w.write(w.list[i].Path, []byte("no picture"))
	}
	w.list = append(w.list, w.list[0])
	w.list[40].Path = filepath.Join(w.dir, "absent.jpg")
	for _, c := range []struct{ bear, failed int }{{0, 1}, {-1, 4}, {10, 4}} {
		o := sidecars()
		o.OnErrors = c.bear
		all, sum, err := w.try(o)
		if stopped := errors.Is(err, ErrStopped); stopped != (c.bear == 0) || !stopped && err != nil || sum.Failed != c.failed {
			t.Errorf("bearing %d: %v, %+v, %d told", c.bear, err, sum, len(all))
		}
	}
	if w.questions() != 3 { // 37 photos in batches of sixteen, none before the stop
		t.Errorf("%d questions", w.questions())
	}
	if got := w.words(w.list[39].Path); len(got) == 0 {
		t.Error("the last photo has no words")
	}
}

// Write errors must not change the requests. For a rejected reply nothing is
// written that could fail, and a read-only folder is detected before any
// request.
func TestWriteErrorsDoNotChangeRequests(t *testing.T) {
	w := newWorld(t, 33)
	for i := range 3 {
		w.write(w.list[i].Path+".xmp", []byte("<broken"))
	}
	o := sidecars()
	o.OnErrors = 0
	all, sum := w.annotate(o)
	if !errors.Is(all[0].Err, cpar.ErrInput) || sum.Failed != 3 || sum.Written != 30 || w.questions() != 3 {
		t.Errorf("%+v, %d questions, %v", sum, w.questions(), all[0].Err)
	}
	path := w.paint("protected/p.jpg", 5)
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o755) })
	if all, _, err := w.try(o); !errors.Is(err, ErrStopped) || !errors.Is(all[len(all)-1].Err, cpar.ErrStorage) || w.questions() != 3 {
		t.Errorf("%v, %d questions", err, w.questions())
	}
}

func TestNextRunContinuesAfterCloudFailure(t *testing.T) {
	w := newWorld(t, 40)
	w.before = func(n int) {
		if n > 1 {
			panic(http.ErrAbortHandler)
		}
	}
	all, sum, err := w.try(sidecars())
	if !errors.Is(err, cpar.ErrCloud) || len(all) != 16 || sum.Written != 16 {
		t.Fatalf("%v, %d told, %+v", err, len(all), sum)
	}
	w.before = nil
	asked := w.questions()
	_, sum = w.annotate(sidecars())
	if sum.Known != 16 || sum.Written != 24 || w.questions() != asked+2 {
		t.Errorf("%+v, %d questions", sum, w.questions()-asked)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	w := newWorld(t, 5)
	before := w.tree()
	o := sidecars()
	o.DryRun = true
	all, sum := w.annotate(o)
	if sum.Run != "" || sum.Written != 5 || sum.Keywords == 0 || !maps.Equal(before, w.tree()) || len(all[0].Files) != 1 {
		t.Errorf("%+v", sum)
	}
	if runs, err := w.lib.Runs(); err != nil || len(runs) > 0 {
		t.Errorf("%+v, %v", runs, err)
	}
	asked := w.questions()
	if _, sum := w.annotate(sidecars()); w.questions() != asked || sum.Written != 5 {
		t.Errorf("%d questions after a dry run, %+v", w.questions()-asked, sum)
	}
	if _, sum := w.annotate(o); sum.Written != 0 {
		t.Errorf("nothing is left to do: %+v", sum)
	}
}

// A dry run and the run itself report the same write-protected photos.
func TestDryRunReportsReadOnlyPhotos(t *testing.T) {
	w := newWorld(t, 5)
	if err := os.Chmod(w.list[2].Path, 0o444); err != nil {
		t.Fatal(err)
	}
	o := sidecars()
	o.Where, o.OnErrors = metadata.Embedded, -1
	for _, o.DryRun = range []bool{true, false} {
		all, sum := w.annotate(o)
		if err := all[2].Err; sum.Failed != 1 || sum.Written != 4 || !errors.Is(err, cpar.ErrStorage) || !strings.Contains(hint.Of(err), "--write sidecar") {
			t.Errorf("dry run %v: %+v, %v, %s", o.DryRun, sum, err, hint.Of(err))
		}
	}
}

func TestAskLeavesNoTrace(t *testing.T) {
	w := newWorld(t, 5)
	o := sidecars()
	for range 2 {
		before, asked := w.tree(), w.questions()
		var all []Result
		if _, err := Ask(t.Context(), w.index(), w.list, o, func(r Result) { all = append(all, r) }); err != nil {
			t.Fatal(err)
		}
		if len(all) != 5 || all[0].Known || all[0].Asked.Sent == 0 || w.questions() != asked+1 || !maps.Equal(before, w.tree()) {
			t.Errorf("%d questions, %+v", w.questions()-asked, all)
		}
	}
}

// The files of a shot share an answer, and two photos may share a sidecar.
func TestFilesOfShotShareAnswer(t *testing.T) {
	w := newWorld(t, 2)
	raw := filepath.Join(w.dir, "p00.CR2")
	w.write(raw, []byte("a raw file"))
	w.list[0].Also = []string{raw}
	if all, _ := w.annotate(sidecars()); !slices.Equal(all[0].Files, []string{w.list[0].Path + ".xmp", raw + ".xmp"}) {
		t.Errorf("%+v", all[0])
	}
	w.undo("")
	b, err := os.ReadFile(w.list[1].Path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.dir, "p01.jpeg"), b)
	before := w.tree()
	w.list = append(w.list, w.list[1])
	w.list[2].Path = filepath.Join(w.dir, "p01.jpeg")
	o := sidecars()
	o.Style = metadata.Adobe
	_, sum := w.annotate(o)
	if sum.Failed > 0 || sum.Files != 2 {
		t.Errorf("%+v", sum)
	}
	if w.undo(""); !maps.Equal(before, w.tree()) {
		t.Errorf("not as before: %v", slices.Sorted(maps.Keys(w.tree())))
	}
}

func TestInterruptedRunKeepsAnswers(t *testing.T) {
	w := newWorld(t, 40)
	ctx, cancel := context.WithCancel(t.Context())
	w.before = func(n int) {
		if n == 2 {
			cancel()
		}
	}
	l, told := w.open(), 0
	sum, err := l.Annotate(ctx, w.index(), w.list, sidecars(), func(Result) { told++ })
	if !errors.Is(err, context.Canceled) || told != 16 || sum.Written != 16 || sum.Run == "" {
		t.Fatalf("%v, %d told, %+v", err, told, sum)
	}
	w.before = nil
	if _, sum := w.annotate(sidecars()); sum.Known != 16 || sum.Written != 24 {
		t.Errorf("%+v", sum)
	}
}

func TestTruncatedPhotoIsAnnotated(t *testing.T) {
	w := newWorld(t, 2)
	b, err := os.ReadFile(w.list[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.list[0].Path, b[:len(b)*9/10])
	all, sum := w.annotate(sidecars())
	if all[0].Err != nil || !all[0].CutShort || all[1].CutShort || len(all[0].Files) != 1 || sum.Failed > 0 {
		t.Errorf("%+v, %+v", sum, all[0])
	}
	if all, _ := w.annotate(sidecars()); !all[0].CutShort || !all[0].Known || all[1].CutShort {
		t.Errorf("again: %+v", all)
	}
}

// A copy of a photo of the same run was not known before it.
func TestSummaryCountsCopies(t *testing.T) {
	w := &annotator{x: new(device.Index), results: make([]Result, 3), final: make([]bool, 3), fresh: map[digest]bool{{1}: true}}
	var sum Summary
	for i, j := range []job{{content: digest{1}, fresh: true}, {content: digest{1}}, {content: digest{2}}} {
		j.at, j.answer = i, new(answer)
		w.report(&j)
		sum.count(&w.results[i])
	}
	if sum.Done != 3 || sum.Copies != 1 || sum.Known != 1 {
		t.Errorf("%+v", sum)
	}
}
