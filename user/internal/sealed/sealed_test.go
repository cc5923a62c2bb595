package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/wire"
)

// tiny keeps tests quick: one block, 16 records a group.
func tiny(t testing.TB) lattice.Params {
	return balanced(t, lattice.Params{LogN: 11, Dim: 20, Block: 128, LogT: 15, RecordNorm: 100, RequestNorm: 100, Addend: 1000})
}

func TestVectorsThatDoNotFitAreRefused(t *testing.T) {
	p := tiny(t)
	k := testKey(t, p)
	at := func(x int16) []int16 { v := make([]int16, p.Dim); v[3] = x; return v }
	many := make([][]int16, p.Records()+1)
	for i := range many {
		many[i] = at(0)
	}
	for name, c := range map[string]struct {
		vectors [][]int16
		addends []int64
	}{
		"no record":            {nil, nil},
		"too many records":     {many, make([]int64, len(many))},
		"no addend":            {[][]int16{at(1)}, nil},
		"norm too large":       {[][]int16{at(101)}, []int64{0}},
		"norm a bit too large": {[][]int16{append([]int16{1}, at(100)[1:]...)}, []int64{0}},
		"largest coordinate":   {[][]int16{at(-1 << 15)}, []int64{0}},
		"norm that overflows":  {[][]int16{slices.Repeat([]int16{-1 << 15}, p.Dim)}, []int64{0}},
		"vector too short":     {[][]int16{make([]int16, p.Dim-1)}, []int64{0}},
		"vector too long":      {[][]int16{make([]int16, p.Dim+1)}, []int64{0}},
		"addend too large":     {[][]int16{at(1)}, []int64{1001}},
		"addend far too small": {[][]int16{at(1)}, []int64{-1 << 63}},
	} {
		if _, err := k.Encrypt(c.vectors, c.addends, fresh()); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.vectors) != 1 || len(c.addends) != 1 || strings.HasPrefix(name, "addend") {
			continue
		}
		if _, _, err := k.NewRequest(c.vectors[0], fresh()); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("request, %s: %v", name, err)
		}
	}
	if _, err := k.Encrypt([][]int16{at(100), at(-100)}, []int64{1000, -1000}, fresh()); err != nil {
		t.Errorf("at the bounds: %v", err)
	}
	if _, err := NewKey(testSecret(1), lattice.Params{}, testID); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a key for no parameters: %v", err)
	}
}

// Two writes of the same records, by the same key or by the key derived once
// more (a second device, a restored backup), share neither a_g nor noise.
func TestEveryWriteIsFresh(t *testing.T) {
	p := tiny(t)
	v, a := [][]int16{make([]int16, p.Dim)}, []int64{5}
	u := make([]int16, p.Dim)
	var groups []*lattice.Group
	var requests []*lattice.Request
	for _, k := range []*Key{testKey(t, p), testKey(t, p)} {
		for range 2 {
			g, err := k.Encrypt(v, a, fresh())
			if err != nil {
				t.Fatal(err)
			}
			_, q, err := k.NewRequest(u, fresh())
			if err != nil {
				t.Fatal(err)
			}
			groups, requests = append(groups, g), append(requests, q)
		}
	}
	for i := range groups {
		for j := range i {
			if groups[i].Seed == groups[j].Seed || requests[i].Number == requests[j].Number {
				t.Errorf("writes %d and %d drew the same", j, i)
			}
			if n := common(words(groups[i].Matrix), words(groups[j].Matrix)) + common(words(groups[i].Addends), words(groups[j].Addends)); n > 0 {
				t.Errorf("groups %d and %d share %d words", j, i, n)
			}
			if n := common(words(requests[i].Matrix), words(requests[j].Matrix)); n > 0 {
				t.Errorf("requests %d and %d share %d words", j, i, n)
			}
		}
	}
}

func common(a, b []uint64) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

// The derivation of keys and public values, the samplers and the encodings are
// the format: an index must open with the program of another year.
func TestKnownAnswers(t *testing.T) {
	p := balanced(t, lattice.Params{LogN: 11, Dim: 200, Block: 128, LogT: 15, RecordNorm: 100, RequestNorm: 100, Addend: 1000})
	k := testKey(t, p)
	r := rand.New(rand.NewPCG(1, 2))
	plain := randomCollection(r, p, 3)
	h, err := NewHints(p, testID)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*lattice.Group
	for i := range plain.vectors {
		g, err := k.Encrypt(plain.vectors[i:i+1], plain.addends[i:i+1], testSecret(byte(90+i)))
		if err == nil {
			err = h.Append(g)
		}
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	_, q, err := k.NewRequest(plain.vectors[0], testSecret(99))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		bytes      []byte
	}{
		{"group", "29b3484d7fbf12c411b607090fe56adcfa6fafa92fd0389b890e4640f5681a0d", groups[1].AppendBinary(nil)},
		{"request", "c5d5e19795b4c0967f3de9a364c5870e0066e6ef711cea876bb2661225f9ce70", q.AppendBinary(nil)},
		{"hints", "2276ef85f35d76874d57e7387bbc30c37a73a51da6af9bcd0b6a49e36709f8e3", h.AppendBinary(nil)},
	} {
		if digest := sha256.Sum256(c.bytes); hex.EncodeToString(digest[:]) != c.want {
			t.Errorf("%s: %x, want %s", c.name, digest, c.want)
		}
	}
}

func TestKeysPrintRedacted(t *testing.T) {
	k := testKey(t, tiny(t))
	q, _, err := k.NewRequest(make([]int16, 20), fresh())
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"key": k, "one-time key": q, "key in a struct": struct{ K *Key }{k}} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{fmt.Sprint(v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), fmt.Sprintf("%x", v), string(j)} {
			if len(s) > 200 {
				t.Errorf("%s prints %d bytes", name, len(s))
			}
		}
	}
}

func TestHintsThatDoNotFitAreRefused(t *testing.T) {
	p := tiny(t)
	k := testKey(t, p)
	groups, h := build(t, k, randomCollection(rand.New(rand.NewPCG(1, 2)), p, 5), 3)
	other, err := NewHints(p, cpar.IndexID{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Append(groups[0]); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a group of another index: %v", err)
	}
	if _, err := NewHints(lattice.Params{}, testID); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no parameters: %v", err)
	}
	for name, c := range map[string]struct{ at, value int }{
		"no group, but bytes": {24, 0}, "another group, no bytes": {24, 3}, "no records": {64, 0}, "too many records": {64, 17},
	} {
		b := h.AppendBinary(nil)
		b[c.at] = byte(c.value)
		if _, err := decodeHints(p, b); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Hints that were read go on where those that were written stopped.
	first, err := NewHints(p, testID)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Append(groups[0]); err != nil {
		t.Fatal(err)
	}
	read, err := decodeHints(p, first.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Append(groups[1]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read.AppendBinary(nil), h.AppendBinary(nil)) || read.State() != h.State() || read.Records() != h.Records() {
		t.Error("hints appended to after reading differ")
	}
}

// decodeHints reads hints and nothing after them.
func decodeHints(p lattice.Params, b []byte) (*Hints, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	h, err := readHints(p, r)
	if err == nil {
		err = r.Close()
	}
	return h, err
}

func FuzzDecodeHints(f *testing.F) {
	p := tiny(f)
	k := testKey(f, p)
	_, h := build(f, k, randomCollection(rand.New(rand.NewPCG(1, 2)), p, 5), 3)
	b := h.AppendBinary(nil)
	f.Add(b)
	f.Add(b[:70])
	f.Add(append(bytes.Clone(b), 0))
	many := bytes.Clone(b)
	many[24], many[27] = 0xff, 0xff
	f.Add(many)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHints(p, b)
		switch {
		case err != nil && !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion):
			t.Fatal(err)
		case err == nil && !bytes.Equal(h.AppendBinary(nil), b):
			t.Fatal("decoded and encoded again, they have other bytes")
		}
	})
}
