package lattice

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"cpar"
)

var (
	small = Params{LogN: 11, Dim: 16, Block: 128, LogT: 15, LogRecordScale: 16, RecordNorm: 100, RequestNorm: 100, Addend: 100}
	id    = cpar.IndexID{9, 8, 7}
)

func randomWords(seed uint64, n int) []byte {
	return AppendWords(nil, Fast.random(rand.New(rand.NewPCG(seed, 2)), n))
}

func testGroup() *Group {
	return &Group{Index: id, Seed: [32]byte{1}, Count: 3, Addends: randomWords(1, small.Records()), Matrix: randomWords(2, small.Words())}
}

func testRequest() *Request {
	return &Request{Index: id, Number: [16]byte{5}, Matrix: randomWords(3, small.Words())}
}

func testReply(groups int) *Reply {
	return &Reply{Index: id, Number: [16]byte{5}, State: State{6}, Words: Fast.random(rand.New(rand.NewPCG(4, 2)), groups*small.Records())}
}

var objects = []struct {
	name   string
	bytes  []byte
	size   int
	decode func([]byte) ([]byte, error)
}{
	{"group", testGroup().AppendBinary(nil), small.GroupSize(), func(b []byte) ([]byte, error) {
		g, err := DecodeGroup(small, b)
		if err != nil {
			return nil, err
		}
		return g.AppendBinary(nil), nil
	}},
	{"request", testRequest().AppendBinary(nil), small.RequestSize(), func(b []byte) ([]byte, error) {
		q, err := DecodeRequest(b, small)
		if err != nil {
			return nil, err
		}
		return q.AppendBinary(nil), nil
	}},
	{"reply", testReply(2).AppendBinary(small, nil, 0), small.ReplySize(2), func(b []byte) ([]byte, error) {
		a, err := DecodeReply(small, b)
		if err != nil {
			return nil, err
		}
		return a.AppendBinary(small, nil, 0), nil
	}},
}

func TestEncodingRoundTrips(t *testing.T) {
	if err := small.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		t.Run(o.name, func(t *testing.T) {
			if len(o.bytes) != o.size {
				t.Errorf("%d bytes, but %d were announced", len(o.bytes), o.size)
			}
			if back, err := o.decode(o.bytes); err != nil || !bytes.Equal(back, o.bytes) {
				t.Fatalf("did not come back: %v", err)
			}
			for _, cut := range []int{0, 3, 7, 20, 30, 55, 60, len(o.bytes) - 1} {
				if _, err := o.decode(o.bytes[:cut]); !errors.Is(err, cpar.ErrCorrupt) {
					t.Errorf("cut at %d: %v", cut, err)
				}
			}
			if _, err := o.decode(append(bytes.Clone(o.bytes), 0)); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("a byte left over: %v", err)
			}
			for _, c := range []struct {
				at   int
				want error
			}{{0, cpar.ErrCorrupt}, {4, cpar.ErrCorrupt}, {5, cpar.ErrCorrupt}, {6, cpar.ErrVersion}} {
				b := bytes.Clone(o.bytes)
				b[c.at] ^= 1
				if _, err := o.decode(b); !errors.Is(err, c.want) {
					t.Errorf("byte %d changed: %v, want %v", c.at, err, c.want)
				}
			}
		})
	}
}

func TestDecodersRejectHostileInput(t *testing.T) {
	const q = 1<<47 - 80<<10 + 1
	count := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	word := func(x uint64) []byte { return AppendWords(nil, []uint64{x}) }
	for name, c := range map[string]struct {
		object, at int
		value      []byte
	}{
		"no records in a group":         {0, 56, count(0)},
		"more than a group holds":       {0, 56, count(17)},
		"reserved bytes of a group":     {0, 56, count(3 | 1<<32)},
		"an addend of Q":                {0, 64, word(q)},
		"an element of Q":               {0, 64 + 6*16, word(q)},
		"the last element of a group":   {0, small.GroupSize() - 6, word(1<<48 - 1)},
		"an element of a request":       {1, 40, word(q)},
		"the last element of a request": {1, small.RequestSize() - 6, word(q + 1)},
		"more groups than bytes":        {2, 72, count(3)},
		"many more groups than bytes":   {2, 72, count(1<<32 - 1)},
		"fewer groups than bytes":       {2, 72, count(1)},
		"reserved bytes of a reply":     {2, 72, count(2 | 1<<40)},
		"a word of a reply":             {2, 80, word(q)},
		"the last word of a reply":      {2, small.ReplySize(2) - 6, word(q)},
	} {
		b := bytes.Clone(objects[c.object].bytes)
		copy(b[c.at:], c.value)
		if _, err := objects[c.object].decode(b); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A decoder allocates at most eight times its input plus a constant.
func TestDecodersAllocateLittle(t *testing.T) {
	b := bytes.Clone(objects[2].bytes)
	binary.LittleEndian.PutUint64(b[72:], 1<<31)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := DecodeReply(small, b); err == nil {
		t.Error("2³¹ groups in some hundred bytes")
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 1<<16 {
		t.Errorf("%d bytes made for a reply of %d", made, len(b))
	}
}

func TestStateNamesGroupsInOrder(t *testing.T) {
	roll := func(p Params, id cpar.IndexID, first int) Roll {
		r, err := NewRoll(p, id, first)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	start, other := roll(small, id, 0), small
	other.Addend++
	a, b := [32]byte{1}, [32]byte{2}
	seen := map[State]string{}
	for name, s := range map[string]Roll{
		"none": start, "other parameters": roll(other, id, 0).Append(a, 1), "other index": roll(small, cpar.IndexID{1}, 0).Append(a, 1),
		"a": start.Append(a, 1), "a of 2": start.Append(a, 2), "b": start.Append(b, 1), "a after another": roll(small, id, 1).Append(a, 1),
		"ab": start.Append(a, 1).Append(b, 1), "ba": start.Append(b, 1).Append(a, 1), "aa": start.Append(a, 1).Append(a, 1),
	} {
		if before, ok := seen[s.State()]; ok {
			t.Errorf("%s and %s are one state", name, before)
		}
		seen[s.State()] = name
	}
	if got, want := start.Append(a, 1).State().Plus(roll(small, id, 1).Append(b, 2).Append(a, 3).State()), start.Append(a, 1).Append(b, 2).Append(a, 3).State(); got != want {
		t.Error("the shares of two machines are not the state of all groups")
	}
	ones := State(bytes.Repeat([]byte{255}, 32))
	if got := ones.Plus(State{1}); got != (State{}) {
		t.Errorf("2²⁵⁶ is %x", got)
	}
}

func fuzzObject(f *testing.F, which int) {
	o := objects[which]
	f.Add(o.bytes)
	f.Add(o.bytes[:40])
	f.Add(append(bytes.Clone(o.bytes), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		back, err := o.decode(b)
		switch {
		case err != nil && !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion):
			t.Fatal(err)
		case err == nil && !bytes.Equal(back, b):
			t.Fatal("decoded and encoded again, it has other bytes")
		}
	})
}

func FuzzDecodeGroup(f *testing.F)   { fuzzObject(f, 0) }
func FuzzDecodeRequest(f *testing.F) { fuzzObject(f, 1) }
func FuzzDecodeReply(f *testing.F)   { fuzzObject(f, 2) }
