//go:build linux || darwin || freebsd

package album

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cpar/internal/durable"
	"cpar/internal/testing/blobtest"
	"cpar/internal/testing/crash"
	"cpar/user"
	"cpar/user/album/blobs"
	"cpar/user/album/query"
	"cpar/user/album/repository"
	"cpar/user/device"
)

// The test binary acts as a process that works on an album in a folder, and kills
// itself at some operation.
func TestMain(m *testing.M) {
	root := os.Getenv("ALBUM_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	if err := child(root, os.Getenv("ALBUM_TEST_DEVICE"), os.Getenv("ALBUM_TEST_STEP"), strings.Split(os.Getenv("ALBUM_TEST_DO"), " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, repository.ErrBusy) {
			os.Exit(busy)
		}
		os.Exit(1)
	}
}

// busy is the exit code of a process that ended because of another device's
// maintenance.
const busy = 9

// A killing store kills its process before or after a request.
type killing struct {
	blobs.Store
	killer *crash.Killer
}

func (k killing) step() {
	if k.killer.Left.Add(-1) == 0 {
		unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
}

func (k killing) Put(ctx context.Context, name string, b []byte) error {
	k.step()
	defer k.step()
	return k.Store.Put(ctx, name, b)
}

func (k killing) Replace(ctx context.Context, name string, b []byte, old [32]byte) error {
	k.step()
	defer k.step()
	return k.Store.Replace(ctx, name, b, old)
}

func (k killing) Delete(ctx context.Context, name string) error {
	k.step()
	defer k.step()
	return k.Store.Delete(ctx, name)
}

func onDevice(root, name string, s blobs.Store, key *user.Key) (*Album, error) {
	return Open(context.Background(), Options{Store: s, Key: key, Now: func() time.Time { return clock(root) },
		Device: &device.Device{State: filepath.Join(root, "device "+name)}})
}

// clock returns the time plus the hours in a file, so that maintenance finds old
// blobs.
func clock(root string) time.Time {
	b, _ := os.ReadFile(filepath.Join(root, "hours"))
	hours, _ := strconv.Atoi(string(b))
	return time.Now().Add(time.Duration(hours) * time.Hour)
}

func child(root, name, step string, do []string) error {
	key, err := user.ReadKeyFile(filepath.Join(root, "key"), user.Unlock{})
	if err != nil {
		return err
	}
	k := &crash.Killer{FS: durable.OS}
	n, _ := strconv.ParseInt(step, 10, 64)
	k.Left.Store(n)
	durable.OS = k
	// Operations of the server on its folder are not interrupted.
	a, err := onDevice(root, name, killing{blobtest.Folder(filepath.Join(root, "cloud")), k}, key)
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch do[0] {
	case "add":
		_, err = a.Add(ctx, do[1:], AddOptions{Committed: func(paths []string) {
			f, err := os.OpenFile(filepath.Join(root, "acknowledged"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				fmt.Fprintln(f, strings.Join(paths, "\n"))
				f.Close()
			}
		}})
	case "remove", "restore", "empty":
		q, e := query.Parse(do[1], nil)
		if e != nil {
			return e
		}
		edit := map[string]func(context.Context, query.Query) (int, error){"remove": a.Remove, "restore": a.Restore, "empty": a.Empty}[do[0]]
		_, err = edit(ctx, q)
	case "maintain":
		err = a.Maintain(ctx, true)
	}
	return err
}

// The type killed is a world of processes that are killed.
type killed struct {
	*world
	kills atomic.Int64
}

func newKilled(t *testing.T) *killed {
	w := &killed{world: newWorld(t)}
	must(t, os.Mkdir(filepath.Join(w.root, "cloud"), 0o700))
	must(t, w.key.WriteFile(filepath.Join(w.root, "key"), ""))
	return w
}

// run runs a process that is killed at a step, or never if step is 0.
func (w *killed) run(name string, step int64, do ...string) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "ALBUM_TEST_ROOT="+w.root, "ALBUM_TEST_DEVICE="+name, fmt.Sprintf("ALBUM_TEST_STEP=%d", step), "ALBUM_TEST_DO="+strings.Join(do, " "))
	out, err := c.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &exit) && !exit.Exited():
		w.kills.Add(1)
	case step > 0 && errors.As(err, &exit) && exit.ExitCode() == busy:
		w.t.Logf("%v: %s", do, out)
	case err != nil:
		w.t.Errorf("%v: %v\n%s", do, err, out)
	}
}

// acknowledged returns the paths whose additions have returned.
func (w *killed) acknowledged() (paths []string) {
	f, err := os.Open(filepath.Join(w.root, "acknowledged"))
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() != "" {
			paths = append(paths, s.Text())
		}
	}
	return paths
}

// whole checks from a new device that nothing acknowledged is lost.
func (w *killed) whole() *Album {
	w.t.Helper()
	must(w.t, os.RemoveAll(filepath.Join(w.root, "device checker")))
	a, err := onDevice(w.root, "checker", blobtest.Folder(filepath.Join(w.root, "cloud")), w.key)
	must(w.t, err)
	acknowledged := w.acknowledged()
	if len(acknowledged) == 0 {
		return a
	}
	must(w.t, a.Sync(w.t.Context()))
	has := map[string]bool{}
	for _, p := range a.catalogue.State().Photos() {
		has[p.Path()] = true
	}
	for _, path := range acknowledged {
		if !has[path] {
			w.t.Fatalf("%s was acknowledged and is lost", path)
		}
	}
	if _, err := a.Verify(w.t.Context(), 100, nil); err != nil {
		w.t.Fatal(err)
	}
	w.shown(a)
	return a
}

// often returns the number in an environment variable, or a few.
func often(t *testing.T, variable string, few int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	t.Logf("%d times; %s sets another number", few, variable)
	return few
}

// folders returns folders of photos, of Corel-5k if $CPAR_ALBUM_PHOTOS names it,
// and the bytes of all of them.
func (w *killed) folders(n int) (dirs []string, bytes int64) {
	w.t.Helper()
	from := os.Getenv("CPAR_ALBUM_PHOTOS")
	if from == "" {
		for i := range n {
			dirs = append(dirs, w.photos(fmt.Sprintf("folder%d", i), 12, uint64(i+1)))
		}
	} else {
		files, err := filepath.Glob(filepath.Join(from, "*.jp*g"))
		must(w.t, err)
		for some := range slices.Chunk(files, (len(files)+n-1)/n) {
			dir := filepath.Join(w.root, fmt.Sprintf("folder%d", len(dirs)))
			must(w.t, os.Mkdir(dir, 0o700))
			for _, f := range some {
				b, err := os.ReadFile(f)
				must(w.t, err)
				must(w.t, os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600))
			}
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		for _, b := range tree(w.t, dir) {
			bytes += int64(len(b))
		}
	}
	return dirs, bytes
}

// Processes that add, remove, restore and maintain are killed at random instants.
// Nothing acknowledged is lost, and the next run continues.
func TestKilledProcessesLoseNothing(t *testing.T) {
	kills := often(t, "CPAR_ALBUM_KILLS", 6)
	w := newKilled(t)
	dirs, bytes := w.folders(max(4, kills/4))
	r := rand.New(rand.NewPCG(11, 12))
	w.run("one", 0, "add", dirs[0])
	for round := 0; int(w.kills.Load()) < kills; round++ {
		dir := dirs[round/2%len(dirs)]
		switch r.IntN(6) {
		case 0, 1, 2:
			w.run("one", 1+r.Int64N(60), "add", dir)
		case 3:
			w.run("one", 1+r.Int64N(12), "remove", "folder:"+filepath.Base(dir))
		case 4:
			w.run("one", 1+r.Int64N(12), "restore", "folder:"+filepath.Base(dir))
		case 5:
			must(t, os.WriteFile(filepath.Join(w.root, "hours"), []byte(strconv.Itoa(round*7)), 0o600))
			w.run("one", 1+r.Int64N(120), "maintain")
		}
		if round%max(1, kills/10) == 0 {
			w.whole()
		}
	}
	w.run("one", 0, append([]string{"add"}, dirs...)...)
	for i := range 2 {
		must(t, os.WriteFile(filepath.Join(w.root, "hours"), []byte(strconv.Itoa(10000+30*i)), 0o600))
		w.run("one", 0, "maintain")
	}
	a := w.whole()
	want := map[string]string{}
	for _, dir := range dirs {
		w.same(a, dir)
		for path, b := range tree(t, dir) {
			want[filepath.Base(dir)+"/"+path] = b
		}
	}
	if got := w.restored(a, "/photos"); !maps.Equal(got, want) {
		t.Errorf("an export has %d files, want %d with equal bytes", len(got), len(want))
	}
	again, err := a.Add(t.Context(), dirs, AddOptions{})
	must(t, err)
	t.Logf("%d kills; a second add of %d bytes sent %d", w.kills.Load(), bytes, again.Sent)
	if again.Photos+again.Versions > 0 || again.Sent*1000 >= bytes {
		t.Errorf("a second add of %d bytes: %+v", bytes, again)
	}
}

// If two devices add at once and are killed, neither loses a photo.
func TestTwoDevicesAddAtOnce(t *testing.T) {
	const killsEach = 3
	times := often(t, "CPAR_ALBUM_PAIRS", 1)
	photos := 40
	if times >= 20 {
		photos = 500
	}
	for i := range times {
		w := newKilled(t)
		r := rand.New(rand.NewPCG(uint64(i), 14))
		want := map[string]string{}
		var wait sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			dir := w.photos("of "+name, photos, uint64(2*i+len(want)))
			must(t, os.Rename(dir, strings.ReplaceAll(dir, " ", "-")))
			dir = strings.ReplaceAll(dir, " ", "-")
			for path, b := range tree(t, dir) {
				want[filepath.Base(dir)+"/"+path] = b
			}
			steps := []int64{1 + r.Int64N(40), 1 + r.Int64N(40), 1 + r.Int64N(40), 0}
			wait.Go(func() {
				for _, step := range steps[:killsEach+1] {
					w.run(name, step, "add", dir)
				}
			})
		}
		wait.Wait()
		a := w.whole()
		must(t, a.Sync(t.Context()))
		to := t.TempDir()
		_, err := a.Get(t.Context(), a.Find(parse(t, ""), false), to, nil)
		must(t, err)
		if got := tree(t, to); !maps.Equal(got, want) {
			t.Errorf("time %d: %d files are there, want %d", i, len(got), len(want))
		}
		t.Logf("time %d: %d kills, %d generations", i, w.kills.Load(), a.catalogue.State().Number)
	}
}

// One device adds while another removes and maintains, and both are killed. Nothing
// acknowledged is lost, the next runs continue, and an export can be opened.
func TestKilledMaintenanceSparesOtherDevice(t *testing.T) {
	kills := often(t, "CPAR_ALBUM_KILLS", 4)
	w := newKilled(t)
	dirs, _ := w.folders(max(3, kills/8))
	r := rand.New(rand.NewPCG(15, 16))
	gone, kept := dirs[0], dirs[1:]
	w.run("one", 0, "add", gone)
	w.run("two", 0, "remove", "folder:"+filepath.Base(gone))
	w.run("two", 0, "empty", "folder:"+filepath.Base(gone))
	must(t, os.Remove(filepath.Join(w.root, "acknowledged"))) // removed for good
	want := map[string]string{}
	for _, dir := range kept {
		for path, b := range tree(t, dir) {
			want[filepath.Base(dir)+"/"+path] = b
		}
	}
	for round := 0; int(w.kills.Load()) < kills; round++ {
		must(t, os.WriteFile(filepath.Join(w.root, "hours"), []byte(strconv.Itoa(round*15)), 0o600))
		adding, maintaining := 1+r.Int64N(60), 1+r.Int64N(150)
		var wait sync.WaitGroup
		wait.Go(func() { w.run("one", adding, "add", kept[round%len(kept)]) })
		wait.Go(func() { w.run("two", maintaining, "maintain") })
		wait.Wait()
		if round%max(1, kills/10) == 0 {
			w.whole()
		}
	}
	w.run("one", 0, append([]string{"add"}, kept...)...)
	for i := range 3 {
		must(t, os.WriteFile(filepath.Join(w.root, "hours"), []byte(strconv.Itoa(10000+30*i)), 0o600))
		w.run("two", 0, "maintain")
	}
	if got := w.restored(w.whole(), "/photos"); !maps.Equal(got, want) {
		t.Errorf("an export has %d files, want %d with equal bytes", len(got), len(want))
	}
	t.Logf("%d kills", w.kills.Load())
}
