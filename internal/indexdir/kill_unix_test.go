//go:build linux || darwin || freebsd

package indexdir_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/crash"
	"cpar/internal/testing/indexsample"
)

// TestMain lets the test binary act as a builder that is killed or exceeds a
// file size limit.
func TestMain(m *testing.M) {
	folder := os.Getenv("INDEXDIR_TEST_FOLDER")
	if folder == "" {
		os.Exit(m.Run())
	}
	number := func(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }
	var o indexdir.Options
	if steps := number("INDEXDIR_TEST_KILL"); steps > 0 {
		k := &crash.Killer{FS: durable.OS}
		k.Left.Store(int64(steps))
		o.FS = k
	}
	if limit := number("INDEXDIR_TEST_LIMIT"); limit > 0 {
		signal.Ignore(unix.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	w, err := indexdir.Create(folder, o)
	if err == nil {
		err = indexsample.Write(w, indexsample.Manifest(2), 2)
	}
	switch {
	case err == nil:
		os.Exit(0)
	case errors.Is(err, cpar.ErrStorage):
		fmt.Printf("%v; %s\n", err, hint.Of(err))
		os.Exit(8)
	}
	fmt.Println(err)
	os.Exit(1)
}

func child(folder, variable string, value int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "INDEXDIR_TEST_FOLDER="+folder, fmt.Sprintf("%s=%d", variable, value))
	return c
}

func TestKilledProcess(t *testing.T) {
	folder := t.TempDir()
	for step := 1; ; step++ {
		build(t, folder, 1) // this also needs the killed process's lock
		err := child(folder, "INDEXDIR_TEST_KILL", step).Run()
		got, whole := which(folder, 1, 2)
		if whole != nil {
			t.Fatalf("killed at step %d: %v", step, whole)
		}
		if err == nil {
			if got != 2 || step < 15 {
				t.Fatalf("not killed at step %d, and the index is %d", step, got)
			}
			return
		}
		if step > 200 {
			t.Fatal("the builder does not finish")
		}
	}
}

func TestFileSizeLimit(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	for _, limit := range []int{1, 50, 150} {
		out, err := child(folder, "INDEXDIR_TEST_LIMIT", limit).Output()
		if e := (*exec.ExitError)(nil); !errors.As(err, &e) || e.ExitCode() != 8 {
			t.Errorf("files of %d bytes: %v, %s", limit, err, out)
		}
		if !strings.Contains(string(out), "file too large") || !strings.Contains(string(out), "needed") {
			t.Errorf("files of %d bytes: %s", limit, out)
		}
		if got, err := which(folder, 1, 2); got != 1 {
			t.Errorf("files of %d bytes: index %d: %v", limit, got, err)
		}
	}
}
