//go:build linux || darwin || freebsd

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/cluster"
	"cpar/cloud/placement"
	"cpar/cloud/shard"
)

// Three nodes join three others, which are then drained and stopped while
// requests are answered. Afterwards every shard is exactly where placement puts
// it.
func TestClusterStorm(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "router")
	node := []string{"--role", "node", "--unload-after", "4s"}
	together := func(of ...int) {
		var starting sync.WaitGroup
		for range of {
			c.machines = append(c.machines, &remoteDaemon{t: t, place: c.storage.Endpoint, data: filepath.Join(t.TempDir(), "data")})
		}
		for _, i := range of {
			starting.Go(func() { c.start(i, node...) })
		}
		starting.Wait()
	}
	together(1, 2, 3)
	var all []*cpar.Manifest
	var requests []*cpar.Request
	for id := range uint64(8) {
		folder, m := large(t, id+1, id)
		if _, err := c.machines[0].client().Push(t.Context(), folder, nil); err != nil {
			t.Fatal(err)
		}
		all, requests = append(all, m), append(requests, requestsTo(m, 2)...)
	}
	want, err := answers(t.Context(), c.machines[0].client(), requests)
	if err != nil {
		t.Fatal(err)
	}
	l := c.begin(3, requests, want, 0)
	defer l.end()
	l.during("three nodes", time.Second)
	c.placed(all, "m1", "m2", "m3")
	together(4, 5, 6)
	l.during("three more", 3*time.Second)
	c.placed(all, "m1", "m2", "m3", "m4", "m5", "m6")
	l.during("until all is in its place", time.Second)
	for i := 1; i <= 3; i++ {
		c.run("drain", fmt.Sprintf("m%d", i))
	}
	l.during("three are drained", 3*time.Second)
	c.placed(all, "m4", "m5", "m6")
	for i := 1; i <= 3; i++ {
		c.machines[i].cmd.Process.Signal(syscall.SIGTERM)
	}
	for i := 1; i <= 3; i++ {
		if err := c.machines[i].cmd.Wait(); err != nil {
			t.Errorf("m%d ends with %v: %s", i, err, c.machines[i].said.String())
		}
		c.machines[i].cmd = nil
	}
	l.during("they are stopped", 3*time.Second)
	if got := c.status(); len(got.Nodes) != 3 || got.Indexes != len(all) {
		t.Errorf("%+v", got)
	}
}

func (c *testCluster) placed(all []*cpar.Manifest, nodes ...string) {
	c.t.Helper()
	var there []placement.Node
	want := map[string]int{}
	for _, name := range nodes {
		there, want[name] = append(there, placement.Node{Name: name}), 0
	}
	m := placement.New(there)
	for _, x := range all {
		for i := range shard.Split(x, 1) {
			for _, n := range m.Nodes(placement.SlotOf("", x.ID, i), cluster.Replicas) {
				want[m.Name(n)]++
			}
		}
	}
	got := map[string]int{}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		clear(got)
		for _, x := range c.status().Nodes {
			if x.Parts > 0 || !x.Leaving { // a drained node releases everything, even if it is never stopped
				got[x.Node] = x.Parts
			}
		}
		if maps.Equal(got, want) {
			c.t.Logf("%d nodes hold %v", len(nodes), got)
			return
		}
	}
	c.t.Errorf("nodes hold %v; placement says %v", got, want)
}
