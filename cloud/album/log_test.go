package album

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bigState returns a state with n blobs in two albums.
func bigState(n int) *state {
	st, at := newState(), time.Unix(1e9, 1000).UTC()
	for i := range n {
		v := &version{Bytes: 20e6, Key: newKey(uint64(i)), SHA256: [32]byte{byte(i), byte(i >> 8)}}
		st.apply(&event{At: at, Album: strings.Repeat(fmt.Sprint(i%2), 32), Name: fmt.Sprintf("p%032x", i), Put: v})
	}
	return st
}

// An entry has the bytes that json.Marshal produces, but encoding takes little
// more memory than the entry, and decoding little more than the state.
func TestStateTakesLittleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes package json allocate more")
	}
	const blobs = 20000
	st := bigState(blobs)
	st.Indexes = new(int64)
	for i, e := range []*entry{
		{Version: entryVersion, Event: &event{At: st.Last, Album: "<", Name: "n", Delete: true}},
		{Version: entryVersion, Event: &event{At: st.Last, Restore: st}},
		{Version: entryVersion, Event: &event{At: st.Last, Restore: newState()}, State: st},
	} {
		var b []byte
		var err error
		took := allocated(func() { b, err = e.encode() })
		want, _ := json.Marshal(e)
		if text, _, _ := bytes.Cut(b, []byte("\n")); err != nil || !bytes.Equal(text, want) {
			t.Errorf("entry %d: %v, it differs from json.Marshal's", i, err)
		}
		if len(b) > e.size() || took > 3*len(b)+1<<20 {
			t.Errorf("entry %d of %d bytes, estimated as %d, took %d", i, len(b), e.size(), took)
		}
		if took := allocated(func() { _, err = decodeEntry(b, true) }); err != nil || took > 700*blobs {
			t.Errorf("decoding entry %d of %d bytes took %d, %v", i, len(b), took, err)
		}
	}
}

// A state takes less memory than method size returns, and less than load expects
// from the size of the log.
func TestSizeBoundsTheMemoryOfAState(t *testing.T) {
	const blobs = 20000
	b, err := (&entry{Version: entryVersion, Event: &event{}, State: bigState(blobs)}).encode()
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	e, err := decodeEntry(b, true)
	held := heap() - before
	if err != nil || held > e.State.size() || held > len(b)*3/2 {
		t.Errorf("a state takes %d bytes; size is %d, and the log has %d, %v", held, e.State.size(), len(b), err)
	}
	if took := allocated(func() { _, err = decodeEntry(b, false) }); err != nil || took > 1<<20 {
		t.Errorf("decoding without the state took %d bytes, %v", took, err)
	}
	runtime.KeepAlive(b)
}

func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
