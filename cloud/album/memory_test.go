package album_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/album"
)

// Writing and reading a state waits for memory, and fails if there is none.
func TestStateWaitsForMemory(t *testing.T) {
	_, f := openData(t)
	var asked []int64
	held, full := 0, error(nil)
	o := album.Options{Memory: func(_ context.Context, tenant string, n int64) (func(), error) {
		if asked = append(asked, n); tenant != anna || full != nil {
			return nil, full
		}
		held++
		return func() { held-- }, nil
	}}
	s := album.New(f.Albums(), o)
	name := func(i int) string { return fmt.Sprintf("%s-%04d", strings.Repeat("x", 100), i) }
	for i := range album.SnapshotEvery - 1 {
		mustPut(t, s, name(i))
	}
	if len(asked) > 0 {
		t.Errorf("small entries took %d", asked)
	}
	full = cpar.ErrStorage
	if _, err := put(t.Context(), s, ref("last"), nil, nil); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
	full = nil
	mustPut(t, s, "last")
	fresh := album.New(f.Albums(), o)
	if got := all(t, fresh, anna, one); len(got) != album.SnapshotEvery {
		t.Errorf("it has %d blobs", len(got))
	}
	var state int64
	for o, err := range f.Albums().List(t.Context(), anna, "log/") {
		if err != nil {
			t.Fatal(err)
		}
		state = max(state, o.Bytes)
	}
	if len(asked) != 3 || asked[1] < state || asked[2] != state || held != 0 {
		t.Errorf("asked for %d bytes of %d, and %d are held", asked, state, held)
	}
	full = cpar.ErrStorage
	if _, err := album.New(f.Albums(), o).Stat(t.Context(), ref("last")); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
}

// States of all tenants together stay within their limit. States in use stay in
// memory, and others wait for them.
func TestStatesAreBounded(t *testing.T) {
	_, f := openData(t)
	const tenants, blobs = 5, 40
	name := func(i int) album.Ref {
		return album.Ref{Tenant: fmt.Sprintf("%016x", i%tenants), Album: one, Name: fmt.Sprintf("%s-%04d", strings.Repeat("x", 100), i)}
	}
	first := album.New(f.Albums(), album.Options{})
	for i := range tenants * blobs {
		if _, err := put(t.Context(), first, name(i), []byte("bytes"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(first.Known()); n != tenants {
		t.Errorf("%d states are in memory without a limit that matters", n)
	}
	slow := &between{Objects: f.Albums(), after: func() {}}
	s := album.New(slow, album.Options{States: 50_000}) // for two states
	list := func(ctx context.Context, tenant int) error {
		list, _, err := s.List(ctx, name(tenant).Tenant, one, "", "", 1000)
		if err == nil && len(list) != blobs {
			err = fmt.Errorf("%d blobs", len(list))
		}
		return err
	}
	for range 3 {
		var group sync.WaitGroup
		for i := range tenants {
			group.Go(func() {
				if err := list(t.Context(), i); err != nil {
					t.Errorf("tenant %d: %v", i, err)
				}
			})
		}
		group.Wait()
		if n := len(s.Known()); n == 0 || n > 2 {
			t.Errorf("%d states are in memory", n)
		}
	}
	// Two changes of two tenants wait for the storage.
	var group sync.WaitGroup
	written, release := make(chan bool), make(chan bool)
	slow.entry = func() { written <- true; <-release }
	for i := range 2 {
		group.Go(func() {
			if err := s.Delete(t.Context(), name(i)); err != nil {
				t.Error(err)
			}
		})
		<-written
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := list(short, 3); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third beside two states in use: %v", err)
	}
	close(release)
	if err := list(t.Context(), 3); err != nil {
		t.Errorf("a third after them: %v", err)
	}
	group.Wait()
	// Background tasks leave no state behind, and drop none of a client.
	s.Unload(time.Now().Add(time.Hour))
	for i := range tenants {
		leave := s.Visit(name(i).Tenant)
		if err := s.Check(t.Context(), name(i).Tenant, true, nil, func(f album.Fault) { t.Error(f) }); err != nil {
			t.Error(err)
		}
		leave()
	}
	if n := len(s.Known()); n > 0 {
		t.Errorf("%d states are left behind", n)
	}
	err := list(t.Context(), 4)
	s.Visit(name(4).Tenant)()
	if n := len(s.Known()); err != nil || n != 1 {
		t.Errorf("%d states are left, %v", n, err)
	}
}

// Requests that trust the state in memory run beside requests that read the log.
// The race detector checks them.
func TestLooksBesideReads(t *testing.T) {
	_, f := openData(t)
	s := album.New(f.Albums(), album.Options{})
	mustPut(t, s, "a")
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, err := s.Stat(t.Context(), ref("a")); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			if _, err := s.Usage(t.Context(), anna); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
