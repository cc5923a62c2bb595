//go:build linux || darwin || freebsd

package library

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/testing/crash"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
)

// The test binary acts as a process that writes keywords into photos, undoes
// the run, and is killed at some file operation.
func TestMain(m *testing.M) {
	root := os.Getenv("LIBRARY_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	step, _ := strconv.ParseInt(os.Getenv("LIBRARY_TEST_STEP"), 10, 64)
	k := &crash.Killer{FS: durable.OS}
	k.Left.Store(step)
	durable.OS = k
	if err := (embedding{root}).run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// embedding is a folder with a key, a device's state and photos.
type embedding struct{ root string }

func (e embedding) library() (*Library, error) {
	key, err := user.ReadKeyFile(filepath.Join(e.root, "key"), user.Unlock{})
	if err != nil {
		return nil, err
	}
	return Open(key, &device.Device{State: filepath.Join(e.root, "state"), Cache: filepath.Join(e.root, "cache")})
}

func (e embedding) run() error {
	l, err := e.library()
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(e.root, "photos", "*.jpeg"))
	if err != nil {
		return err
	}
	var list []photo.Photo
	for _, p := range paths {
		list = append(list, photo.Photo{Path: p})
	}
	o := Options{Where: metadata.Embedded, Jobs: 1, Suggests: "pier",
		Suggest: func(string, []rank.Keyword) ([]string, error) { return []string{"pier"}, nil }}
	sum, err := l.Suggest(context.Background(), list, o, func(Result) {})
	if err == nil && sum.Files != len(list) {
		err = fmt.Errorf("wrote %+v", sum)
	}
	if err == nil {
		_, err = l.Undo(context.Background(), "", false, nil)
	}
	return err
}

// A kill while a photo is written, by a run or by its undo, leaves a temporary
// file that the next run or undo removes.
func TestKilledWriterLeavesNoTemporaryFile(t *testing.T) {
	jpg, err := painted(41)
	if err != nil {
		t.Fatal(err)
	}
	key := user.NewKey()
	temps := 0
	for step := 1; ; step++ {
		w := &world{t: t, dir: filepath.Join(t.TempDir(), "photos")}
		e := embedding{filepath.Dir(w.dir)}
		if err := key.WriteFile(filepath.Join(e.root, "key"), ""); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a.jpeg", "b.jpeg"} {
			w.write(filepath.Join(w.dir, name), jpg)
		}
		before := w.tree()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "LIBRARY_TEST_ROOT="+e.root, fmt.Sprintf("LIBRARY_TEST_STEP=%d", step))
		child.Stderr = os.Stderr
		ended := child.Run()
		if exit := (*exec.ExitError)(nil); ended != nil && (!errors.As(ended, &exit) || exit.Exited()) {
			t.Fatalf("step %d: %v", step, ended)
		}
		temps += w.temps()
		l, err := e.library()
		if err != nil {
			t.Fatal(err)
		}
		release, err := l.lockShared()
		if err != nil {
			t.Fatal(err)
		}
		release()
		if n := w.temps(); n > 0 {
			t.Errorf("killed at step %d: the next process leaves %d temporary files", step, n)
		}
		if _, err := l.Undo(t.Context(), "", false, nil); err != nil && !errors.Is(err, cpar.ErrInput) { // there may be no run
			t.Errorf("killed at step %d: %v", step, err)
		}
		if !maps.Equal(before, w.tree()) {
			t.Errorf("killed at step %d: the photos are not as before", step)
		}
		if ended == nil {
			break
		}
	}
	if temps < 4 {
		t.Errorf("%d temporary files were left, of two photos in a run and an undo", temps)
	}
}

func (w *world) temps() (n int) {
	for path := range w.tree() {
		if strings.HasSuffix(path, ".tmp") {
			n++
		}
	}
	return n
}
