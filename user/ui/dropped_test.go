package ui

import "testing"

// The least recently used photos are evicted first, and a photo above the bound at
// once.
func TestDroppedBytesAreBounded(t *testing.T) {
	d := newDropped()
	d.maxBytes = 100
	put := func(bytes int) string { return d.put("a.jpg", make([]byte, bytes), &Known{}).id }
	held := func(id string) bool { return d.by.Contains(id) }
	first, second, third := put(40), put(40), put(40)
	if held(first) || !held(second) || !held(third) {
		t.Error("of 120 bytes the first 40 should have gone")
	}
	if large := put(101); held(second) || held(third) || held(large) {
		t.Error("101 bytes are kept, or other photos are gone")
	}
	var last string
	for range maxDropped + 1 {
		last = put(1)
	}
	if d.by.Len() != maxDropped || !held(last) {
		t.Errorf("%d photos are kept", d.by.Len())
	}
}
