package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMembersTracksLiveNodes(t *testing.T) {
	changes := 0
	m, now := newMembers(func() { changes++ }), time.Now()
	hear := func(b Beat) {
		text, _ := json.Marshal(b)
		m.hear(text, now)
	}
	are := func(what string, all, stay, changed int) {
		t.Helper()
		if v := m.current(); v.all.Len() != all || v.stay.Len() != stay || len(m.list()) != all || changes != changed {
			t.Errorf("%s: %d nodes, %d stay, %d changes; want %d, %d, %d", what, v.all.Len(), v.stay.Len(), changes, all, stay, changed)
		}
	}
	are("nobody", 0, 0, 0)
	hear(Beat{Node: "a"})
	hear(Beat{Node: "b", Rack: "r"})
	are("two", 2, 2, 2)
	before := m.current()
	hear(Beat{Node: "a", Shards: 7})
	are("the same, with more", 2, 2, 2)
	if m.current() != before || m.list()[0].Shards != 7 {
		t.Error("the assignment has changed although no node has")
	}
	hear(Beat{Node: "a", Leaving: true})
	are("one leaves", 2, 1, 3)
	hear(Beat{Node: "b", Rack: "s"})
	are("another rack", 2, 1, 4)
	hear(Beat{Node: "a", Leaving: true, Gone: true})
	are("it has gone", 1, 1, 5)
	hear(Beat{Node: "a", Gone: true})
	are("it goes twice", 1, 1, 5)
	m.expire(now.Add(lease))
	are("at the end of a lease", 1, 1, 5)
	m.expire(now.Add(lease + 1))
	are("after it", 0, 0, 6)
	hear(Beat{Node: "b"})
	are("it lives again", 1, 1, 7)

	for _, nonsense := range []string{"", "x", "{}", `{"node":""}`, `{"node":7}`, `{"node":"a.b"}`, `{"node":">"}`, `{"node":"` + strings.Repeat("x", 64) + `"}`, `{"node":"c"`, `[]`, "\x00"} {
		if got := m.hear([]byte(nonsense), now); got != (Beat{}) {
			t.Errorf("%q is %+v", nonsense, got)
		}
	}
	are("nonsense", 1, 1, 7)
}

func TestNames(t *testing.T) {
	for _, good := range []string{"m1", "a-b_C", strings.Repeat("x", 63)} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "a.b", "*", ">", "a b", "ä", strings.Repeat("x", 64), "a\n"} {
		if CheckName(bad) == nil {
			t.Errorf("%q is accepted as a name", bad)
		}
	}
	for name, want := range map[string]string{"all": "{true true}", "router": "{true false}", "node": "{false true}"} {
		if r, err := ParseRole(name); err != nil || fmt.Sprint(r) != want {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if _, err := ParseRole("nodes"); err == nil {
		t.Error("an unknown role is accepted")
	}
}
