//go:build linux || darwin || freebsd

package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/testing/indexsample"
)

// Until an operation is acknowledged, either the old or the new index is served
// bit for bit. After a retry the new one is.
func TestClusterUploadsKilled(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "router", "router", "node", "node")
	id := indexsample.Manifest(3).ID
	var folders []string
	var manifests []*cpar.Manifest
	var want [][][]byte
	for seed := range uint64(2) {
		folder, m := large(t, 3, seed)
		folders, manifests = append(folders, folder), append(manifests, m)
	}
	requests := requestsTo(manifests[0], 3)
	took := time.Duration(0)
	for _, folder := range folders {
		start := time.Now()
		if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
			t.Fatal(err)
		}
		took = time.Since(start)
		list, err := answers(t.Context(), c.machines[1].client(), requests)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, list)
	}
	// is returns the index that a router serves, −1 if it serves none, and −2
	// if only the storage can tell.
	is := func(router int, patience time.Duration) int {
		t.Helper()
		client := c.machines[router].client()
		client.Busy = patience
		list, err := answers(t.Context(), client, requests)
		switch {
		case errors.Is(err, cparhttp.ErrNotFound):
			return -1
		case patience == 0 && errors.Is(err, cpar.ErrCloud):
			return -2
		}
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(want, func(w [][]byte) bool { return slices.EqualFunc(w, list, bytes.Equal) })
		if i < 0 {
			t.Fatalf("router %d answers with neither index", router)
		}
		return i
	}
	rng := rand.New(rand.NewPCG(5, 5))
	active, cut := 1, 0
	for round := range 18 {
		next := 1 - max(active, 0)
		if round%5 >= 3 {
			next = -1
		}
		change := func(patience time.Duration) error {
			client := c.machines[0].client()
			if client.Busy = patience; next < 0 {
				return client.Delete(t.Context(), id)
			}
			_, err := client.Push(t.Context(), folders[next], nil)
			return err
		}
		done := make(chan error, 1)
		go func() { done <- change(0) }()
		if within := int64(took); next < 0 { // a deletion is shorter
			time.Sleep(time.Duration(rng.Int64N(within / 8)))
		} else {
			time.Sleep(time.Duration(rng.Int64N(within)))
		}
		unknown := false // router 1 may have missed an acknowledged operation before the storage went away
		switch round % 4 {
		case 0, 2:
			c.machines[0].kill()
			c.start(0, "--role", "router")
		case 1:
			c.machines[2].kill()
			c.start(2, "--role", "node")
		case 3:
			c.storage.Kill()
			got := is(1, 0)
			if unknown = got == -2 && active >= 0; got != active && got != next && got != -2 {
				t.Fatalf("round %d: while the storage is away %d is served, but before it was %d", round, got, active)
			}
			c.storage.Start()
		}
		err := <-done
		if unknown && err != nil {
			t.Errorf("round %d: while the storage is away nothing is served, although no other operation was acknowledged: %v", round, err)
		}
		for router := range 2 {
			if got := is(router, time.Minute); err == nil && got != next || got != active && got != next {
				t.Fatalf("round %d: %d was active and %d was requested (%v); router %d has %d", round, active, next, err, router, got)
			}
		}
		if err != nil {
			cut++
			if err = change(time.Minute); err != nil && !(next < 0 && errors.Is(err, cparhttp.ErrNotFound)) {
				t.Fatalf("round %d, once more: %v", round, err)
			}
		}
		for router := range 2 {
			if got := is(router, time.Minute); got != next {
				t.Fatalf("round %d: %d is acknowledged; router %d has %d", round, next, router, got)
			}
			if got := whole(t, c.machines[router].client(), id, manifests...); got != next {
				t.Fatalf("round %d: %d is acknowledged; the manifest of router %d is of %d", round, next, router, got)
			}
		}
		active = next
	}
	t.Logf("%d of 18 were cut short; a push takes %v", cut, took.Round(time.Millisecond))
	if cut == 0 {
		t.Error("nothing was ever cut short")
	}
}

// A node that returns during a push has the new index, and a deleted index is
// gone everywhere at once.
func TestClusterRestarts(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "all", "all", "all")
	folder, m := large(t, 1, 1)
	if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	requests := requestsTo(m, 5)
	want, err := answers(t.Context(), c.machines[0].client(), requests)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string) {
		t.Helper()
		for i, d := range c.machines {
			if got, err := answers(t.Context(), d.client(), requests); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("%s: machine %d answers otherwise, or not: %v", what, i, err)
			}
		}
	}
	for _, d := range c.machines {
		d.kill()
	}
	var starting sync.WaitGroup
	for i := range c.machines {
		starting.Go(func() { c.start(i) })
	}
	starting.Wait()
	same("all were killed")

	other, _ := large(t, 1, 2)
	done := make(chan error, 1)
	go func() {
		_, err := c.machines[0].client().Push(t.Context(), other, nil)
		done <- err
	}()
	c.machines[1].kill()
	c.start(1)
	if err := <-done; err != nil {
		t.Fatalf("a push while another machine was started again: %v", err)
	}
	if want, err = answers(t.Context(), c.machines[0].client(), requests); err != nil {
		t.Fatal(err)
	}
	same("one was started again during a push")

	if err := c.machines[2].client().Delete(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	for i, d := range c.machines {
		if _, err := answers(t.Context(), d.client(), requests); !errors.Is(err, cparhttp.ErrNotFound) {
			t.Errorf("machine %d answers for an index that is deleted: %v", i, err)
		}
	}
}
