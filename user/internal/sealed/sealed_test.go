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
)

// tiny has one block and 16 records per group.
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

// Two encryptions of the same records, even by a second device or from a
// backup, share neither a_g nor noise.
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

// Derivations, samplers and encodings are part of the format.
func TestKnownAnswers(t *testing.T) {
	p := balanced(t, lattice.Params{LogN: 11, Dim: 200, Block: 128, LogT: 15, RecordNorm: 100, RequestNorm: 100, Addend: 1000})
	k := testKey(t, p)
	r := rand.New(rand.NewPCG(1, 2))
	plain := randomCollection(r, p, 3)
	var groups []*lattice.Group
	for i := range plain.vectors {
		g, err := k.Encrypt(plain.vectors[i:i+1], plain.addends[i:i+1], testSecret(byte(90+i)))
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
		{"hints", "56703246f06468be30b9f767fcbbd3bb98964fe5a4626133bb081241fafc28ae", hintsOf(k, groups)},
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
	if _, err := NewHints(lattice.Params{}, testID); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no parameters: %v", err)
	}
	good := hintsOf(k, groups)
	if len(good) != 2*p.HintSize() {
		t.Errorf("hints of 2 groups have %d bytes", len(good))
	}
	for name, c := range map[string]struct{ at, value int }{
		"another kind": {4, 'g'}, "another index": {8, 77}, "no records": {56, 0}, "too many records": {56, 17}, "many records": {59, 1}, "no zero": {60, 1},
	} {
		for _, hint := range []int{0, p.HintSize()} {
			b := bytes.Clone(good)
			b[hint+c.at] = byte(c.value)
			if _, err := decodeHints(p, b); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, cut := range []int{1, 23, 63, p.HintSize() - 1, p.HintSize() + 1} {
		if _, err := decodeHints(p, good[:cut]); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
	// One or two segments give the same hints.
	whole, err := decodeHints(p, good)
	if err != nil || whole.State() != h.State() || whole.Records() != h.Records() || whole.Groups() != h.Groups() || h.Records() != 5 {
		t.Errorf("hints of one segment differ from those of two: %v", err)
	}
}

func hintsOf(k *Key, groups []*lattice.Group) (b []byte) {
	for _, g := range groups {
		b = k.appendHint(b, g)
	}
	return b
}

func decodeHints(p lattice.Params, b []byte) (*Hints, error) {
	h, err := NewHints(p, testID)
	if err == nil {
		err = h.Append(b)
	}
	return h, err
}

func FuzzDecodeHints(f *testing.F) {
	p := tiny(f)
	k := testKey(f, p)
	groups, _ := build(f, k, randomCollection(rand.New(rand.NewPCG(1, 2)), p, 5), 3)
	b := hintsOf(k, groups)
	f.Add(b)
	f.Add(b[:70])
	f.Add(append(bytes.Clone(b), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHints(p, b)
		switch {
		case err != nil && !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion):
			t.Fatal(err)
		case err == nil && h.Groups()*p.HintSize() != len(b):
			t.Fatalf("%d hints were read of %d bytes", h.Groups(), len(b))
		}
	})
}
