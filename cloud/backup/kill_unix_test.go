//go:build linux || darwin || freebsd

package backup_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/testing/crash"
	"cpar/internal/testing/indexsample"
)

// The test binary acts as a server that is killed. Two tenants push, delete and
// push again while it scrubs, collects and backs up.
func TestMain(m *testing.M) {
	root := os.Getenv("BACKUP_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	step, _ := strconv.ParseInt(os.Getenv("BACKUP_TEST_STEP"), 10, 64)
	play := cloud{root: root, states: os.Getenv("BACKUP_TEST_STATES")}
	if err := play.run(step); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var tenants = []string{"", anna}

const states = 3

func (c *cloud) state(n int) string { return filepath.Join(c.states, fmt.Sprint(n)) }

// unsynced skips syncing, which does not matter if only the process is killed.
type unsynced struct{ durable.FS }

func (u unsynced) Create(path string, perm fs.FileMode) (durable.File, error) {
	f, err := u.FS.Create(path, perm)
	return unsyncedFile{f}, err
}
func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

type cloud struct {
	root, states string
	fsys         durable.FS
	*store.Store[struct{}]
}

func (c *cloud) run(step int64) error {
	c.fsys = durable.OS
	if step > 0 {
		k := &crash.Killer{FS: unsynced{durable.OS}}
		k.Left.Store(step)
		c.fsys = k
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	var err error
	c.Store, err = store.Open(filepath.Join(c.root, "data"), load, store.Options{FS: c.fsys, Log: log, ScrubRate: 1 << 40, ScrubEvery: time.Millisecond})
	if err != nil {
		return err
	}
	if step > 0 {
		for i, tenant := range tenants {
			if err := c.change(tenant, i+1); err != nil {
				return err
			}
		}
		if err := c.copy(c.fsys); err != nil {
			return err
		}
		return errors.Join(c.collect(), c.change("", 2), c.Delete(context.Background(), store.IndexRef{Tenant: anna, Index: c.id()}), c.collect(), c.copy(c.fsys))
	}
	defer c.Maintain(context.Background())()
	fmt.Println("serving")
	var wg sync.WaitGroup
	failed := make(chan error, 4)
	forever := func(f func() error) {
		wg.Go(func() {
			for {
				if err := f(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for _, tenant := range tenants {
		n := 0
		forever(func() error {
			n++
			if n%5 == 0 {
				fmt.Printf("%s begins gone\n", name(tenant))
				if err := c.Delete(context.Background(), store.IndexRef{Tenant: tenant, Index: c.id()}); err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
				fmt.Printf("%s ended gone\n", name(tenant))
				return nil
			}
			fmt.Printf("%s begins %d\n", name(tenant), n%states)
			if err := c.change(tenant, n%states); err != nil {
				return err
			}
			fmt.Printf("%s ended %d\n", name(tenant), n%states)
			return nil
		})
	}
	forever(func() error { return c.copy(durable.OS) })
	forever(c.collect)
	return <-failed
}

func name(tenant string) string { return "tenant-" + tenant }

func (c *cloud) id() cpar.IndexID { return indexsample.Manifest(1).ID }

func (c *cloud) change(tenant string, n int) error {
	return owner{c.state(n % states), read(c.state(n % states))}.push(c.Store, tenant)
}

// collect keeps data for one second, so a slower push must be repeated.
func (c *cloud) collect() error {
	f, err := store.OpenBeside(filepath.Join(c.root, "data"))
	if err == nil {
		_, err = store.Collect(context.Background(), f, store.Before{Unnamed: time.Now().Add(-time.Minute), Broken: time.Now().Add(-time.Minute)}, false, nil)
	}
	return err
}

func (c *cloud) copy(fsys durable.FS) error {
	from, err := store.OpenBeside(filepath.Join(c.root, "data"))
	if err != nil {
		return err
	}
	to, err := store.OpenFolder(filepath.Join(c.root, "copy"), fsys)
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = store.Copy(context.Background(), from, to, store.CopyOptions{Prune: true})
	return err
}

func read(folder string) *cpar.Manifest {
	b, err := os.ReadFile(filepath.Join(folder, "manifest"))
	if err != nil {
		panic(err)
	}
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		panic(err)
	}
	return m
}

func prepare(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{root: t.TempDir(), states: t.TempDir()}
	for n := range states {
		if _, err := indexsample.Build(c.state(n), 1, uint64(n)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *cloud) child(step int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BACKUP_TEST_ROOT="+c.root, "BACKUP_TEST_STATES="+c.states, fmt.Sprintf("BACKUP_TEST_STEP=%d", step))
	cmd.Stderr = os.Stderr
	return cmd
}

// whole checks that every index is absent or in one generation, and returns
// each tenant's generation ("gone" for none).
func (c *cloud) whole(t *testing.T) map[string]string {
	t.Helper()
	has := map[string]string{}
	for _, place := range []string{"copy", "data"} {
		f, err := store.OpenBeside(filepath.Join(c.root, place))
		if err != nil {
			continue
		}
		for _, tenant := range tenants {
			has[tenant] = "gone"
			k := store.IndexRef{Tenant: tenant, Index: c.id()}
			b, err := f.Manifest(t.Context(), k)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err == nil {
				err = store.CheckIndex(t.Context(), f, k, nil)
			}
			if err != nil {
				t.Errorf("%s of tenant %q: %v", place, tenant, err)
			}
			for n := range states {
				if want, _ := read(c.state(n)).MarshalBinary(); string(want) == string(b) {
					has[tenant] = fmt.Sprint(n)
				}
			}
		}
	}
	return has
}

func (c *cloud) mends(t *testing.T) {
	t.Helper()
	var err error
	if c.Store, err = store.Open(filepath.Join(c.root, "data"), load, store.Options{}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, tenant := range tenants {
		if err := c.change(tenant, i); err != nil {
			t.Errorf("pushing again: %v", err)
		}
	}
	now := time.Now().Add(time.Minute)
	for _, place := range []string{"data", "copy"} {
		if _, err := os.Stat(filepath.Join(c.root, place, "indexes")); place == "copy" && err != nil {
			continue
		}
		f, err := store.OpenBeside(filepath.Join(c.root, place))
		if err == nil {
			_, err = store.Collect(t.Context(), f, store.Before{Unnamed: now, Broken: now}, false, nil)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := backUp(t.Context(), filepath.Join(c.root, "data"), filepath.Join(c.root, "copy"), store.CopyOptions{Prune: true}); err != nil {
		t.Errorf("backing up again: %v", err)
	}
	same(t, "backup", filepath.Join(c.root, "data"), filepath.Join(c.root, "copy"))
}

func TestKilledAtEveryFileOperation(t *testing.T) {
	c := prepare(t)
	for step := 1; ; step++ {
		c.root = t.TempDir()
		err := c.child(step).Run()
		c.whole(t)
		if t.Failed() {
			t.Fatalf("killed at step %d", step)
		}
		if err == nil {
			if step < 100 {
				t.Errorf("only %d steps", step)
			}
			return
		}
		if e := (*exec.ExitError)(nil); !errors.As(err, &e) || e.Exited() {
			t.Fatalf("step %d: %v", step, err)
		}
		if step%25 == 0 {
			c.mends(t)
		}
		if step > 1000 {
			t.Fatal("it does not come to an end")
		}
	}
}

func TestKilledAtAnyTime(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	c := prepare(t)
	for round := range rounds {
		cmd := c.child(0)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if line, err := r.ReadString('\n'); err != nil || line != "serving\n" {
			t.Fatalf("it says %q, %v", line, err)
		}
		time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { cmd.Process.Kill() })
		said, _ := io.ReadAll(r)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("round %d: it ended by itself: %v", round, err)
		}
		has := c.whole(t)
		for _, tenant := range tenants {
			done, begun := "", ""
			for line := range strings.Lines(string(said)) {
				w := strings.Fields(line)
				if len(w) != 3 || w[0] != name(tenant) || !strings.HasSuffix(line, "\n") {
					continue
				}
				if w[1] == "ended" {
					done, begun = w[2], ""
				} else {
					begun = w[2]
				}
			}
			if done != "" && has[tenant] != done && has[tenant] != begun {
				t.Errorf("round %d: tenant %q has %s; %s was done and %q begun", round, tenant, has[tenant], done, begun)
			}
		}
		if round%10 == 9 {
			c.mends(t)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}
