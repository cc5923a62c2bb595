package album

import (
	"testing"
	"time"
)

// FuzzEntry decodes entries of the log and applies them. An entry that decodes
// can be applied to any state and encoded again.
func FuzzEntry(f *testing.F) {
	at := time.Unix(1e9, 0).UTC()
	v := &version{Bytes: 3, Key: newKey(1), Live: []span{{From: at}}}
	for _, e := range []*event{
		{At: at, Album: "a", Name: "n", Put: v}, {At: at, Album: "a", Name: "n", Delete: true}, {At: at, Album: "a", Undelete: at},
		{At: at, Restore: &state{Albums: map[string][]*blob{"a": {{"n", []*version{v}}}}}},
		{At: at, Purge: []string{v.object("a", "n")}}, {At: at, Sweep: 3}, {At: at, Indexes: new(int64)}, {At: at, Mark: v.object("a", "n"), Bad: true},
	} {
		b, err := (&entry{Version: entryVersion, Event: e, State: newState()}).encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:len(b)-66])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decodeEntry(append(text, signature(text)...), true)
		if err != nil {
			return
		}
		st := newState()
		if e.State != nil {
			st = e.State
		}
		st.apply(e.Event)
		_ = st.usage()
		b, err := (&entry{Version: entryVersion, Event: e.Event, State: st}).encode()
		if err != nil {
			return // a time that JSON cannot express
		}
		if _, err := decodeEntry(b, true); err != nil {
			t.Errorf("an applied state does not decode: %v", err)
		}
	})
}
