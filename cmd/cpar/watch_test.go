package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/photo/dataset"
	"cpar/user/library"
)

// TestWatchAnnotatesEachPhotoOnce kills cpar watch at random times while photos
// arrive, some of them in halves. CPAR_WATCH_KILLS sets the number of kills.
func TestWatchAnnotatesEachPhotoOnce(t *testing.T) {
	const photos = 300
	kills := 6
	if s := os.Getenv("CPAR_WATCH_KILLS"); s != "" {
		kills, _ = strconv.Atoi(s)
	}
	h := newWatchHome(t)
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		h.arrive(photos, time.Duration(kills)*500*time.Millisecond)
	}()
	args := []string{"watch", "tree", "--settle", "200ms", "--most", "3", "--min-probability", "0"}
	for range kills {
		w := h.start(args...)
		time.Sleep(time.Duration(100+rand.IntN(1200)) * time.Millisecond)
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	<-arrived
	if len(h.sidecars()) > 0 { // otherwise every process was killed before its first run
		h.cpar(0, "undo", h.runs()[0].ID, "--dry-run") // settles what the last kill left
	}
	t.Logf("%d of %d photos have a sidecar after %d kills", len(h.sidecars()), photos, kills)
	before, _ := h.contents()
	w := h.start(args...)
	for deadline := time.Now().Add(5 * time.Minute); len(h.sidecars()) < photos; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d photos have a sidecar\n%s", len(h.sidecars()), photos, said(w))
		}
	}
	h.end(w)
	written := 0
	for _, r := range h.runs() {
		written += r.Files
	}
	if written != photos || len(h.sidecars()) != photos {
		t.Errorf("%d files were written, and %d sidecars are there, for %d photos", written, len(h.sidecars()), photos)
	}
	if out, _ := h.cpar(0, "doctor", "--key", "k"); bytes.Contains(out, []byte(" watch ")) {
		t.Errorf("doctor still lists a watch that has ended:\n%s", out)
	}

	// Nothing is left to do, not even after an undo.
	digest, asked := h.digest(), h.questions()
	w = h.start(args...)
	time.Sleep(2 * time.Second)
	h.end(w)
	if h.digest() != digest || h.questions() != asked {
		t.Errorf("a photo was annotated again: %d questions after %d", h.questions(), asked)
	}
	runs := h.runs()
	for _, r := range slices.Backward(runs) {
		h.cpar(0, "undo", r.ID)
	}
	if photos, others := h.contents(); !maps.Equal(photos, before) || len(others) > 0 {
		t.Error("undo has not reverted everything")
	}
	w = h.start(args...)
	time.Sleep(2 * time.Second)
	h.end(w)
	if _, others := h.contents(); len(others) > 0 || h.questions() != asked {
		t.Error("a photo was annotated again after an undo")
	}
	t.Logf("%d runs", len(runs))
}

func await(ts *testscript.TestScript, _ bool, args []string) {
	wanted := regexp.MustCompile(strings.Join(args[1:], ""))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && wanted.Match(b) {
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %s with %q", args[0], wanted)
		}
	}
}

// newWatchHome has an index of painted scenes and an empty tree.
func newWatchHome(t *testing.T) *home {
	t.Helper()
	var learn []dataset.Photo
	dir := t.TempDir()
	for i := range 40 {
		jpg, words, err := paintOnce(i)
		path := filepath.Join(dir, fmt.Sprintf("%02d.jpg", i))
		if err == nil {
			err = os.WriteFile(path, jpg, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		learn = append(learn, dataset.Photo{Name: filepath.Base(path), Path: path, Keywords: words})
	}
	t.Setenv("CPAR_MODEL", "none")
	h := newHome(t, learn)
	if err := os.MkdirAll(h.tree, 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

// arrive writes n photos within about a time: whole, in two halves, or renamed
// into place, some into new folders.
func (h *home) arrive(n int, within time.Duration) {
	var late []func()
	for i := range n {
		name := filepath.Join(h.tree, fmt.Sprint("folder", i/60), fmt.Sprintf("%03d.jpg", i))
		b := distinct(i)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		write := func(path string, b []byte) {
			if err == nil {
				err = os.WriteFile(path, b, 0o644)
			}
			if err != nil {
				h.t.Error(err)
			}
		}
		switch i % 10 {
		case 3:
			write(name, b[:len(b)/2])
			late = append(late, func() { write(name, b) })
		case 6:
			write(name+".part", b)
			_ = os.Rename(name+".part", name)
		default:
			write(name, b)
		}
		time.Sleep(within / time.Duration(n))
	}
	for _, finish := range late { // long after they seemed to have settled
		finish()
	}
}

// distinct returns a small photo with the given number in its pixels.
func distinct(i int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 96, 72))
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	random := func() color.RGBA {
		return color.RGBA{uint8(rng.IntN(256)), uint8(rng.IntN(256)), uint8(rng.IntN(256)), 255}
	}
	for y := 0; y < 72; y += 24 {
		for x := 0; x < 96; x += 24 {
			draw.Draw(m, image.Rect(x, y, x+24, y+24), image.NewUniform(random()), image.Point{}, draw.Src)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func (h *home) start(args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command("cpar", args...)
	log, err := os.Create(filepath.Join(h.t.TempDir(), "stderr"))
	if err == nil {
		cmd.Stderr = log
		err = errors.Join(cmd.Start(), log.Close())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return cmd
}

// said returns what a process of start has written to stderr so far.
func said(cmd *exec.Cmd) string {
	b, _ := os.ReadFile(cmd.Stderr.(*os.File).Name())
	return string(b)
}

// end interrupts a watch as ^C does, once it handles the signal.
func (h *home) end(cmd *exec.Cmd) {
	h.t.Helper()
	if runtime.GOOS == "windows" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(said(cmd), "^C ends it"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("cpar watch has not started\n%s", said(cmd))
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		h.t.Fatalf("^C: %v\n%s", err, said(cmd))
	}
}

func (h *home) runs() (runs []library.Run) {
	h.t.Helper()
	out, _ := h.cpar(0, "runs", "--json")
	if err := json.Unmarshal(out, &runs); err != nil {
		h.t.Fatal(err)
	}
	return runs
}

// contents returns the digests of the photos, and of all other files.
func (h *home) contents() (photos, others map[string][32]byte) {
	h.t.Helper()
	photos, others = map[string][32]byte{}, map[string][32]byte{}
	h.files(func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		if filepath.Ext(path) == ".jpg" {
			photos[path] = sha256.Sum256(b)
		} else {
			others[path] = sha256.Sum256(b)
		}
	})
	return photos, others
}

// systemd accepts the unit, and the C runtime of Windows would read back the
// words of the task.
func TestUnitOfWatchIsValid(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CPAR_SYSTEMD") == "required" {
			t.Fatal(err)
		}
		t.Skip("systemd-analyze is not on the path")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "cpar-watch.service")
	text := systemdUnit([]string{program, "watch", `/photos/50% "of" $HOME\new`, "--exclude=a b*"}, []string{"a note"})
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("systemd-analyze", "verify", "--user", "--man=no", unit)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte(unit)) {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
	for word, want := range map[string]string{`C:\a b\`: `"C:\a b\\"`, `say "hi"`: `"say \"hi\""`, `x\"y`: `"x\\\"y"`} {
		if got := windowsWord(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}
