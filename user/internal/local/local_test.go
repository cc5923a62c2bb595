package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/vectorlayout"
	"cpar/user/internal/aead"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

const dim = 3

// testScheme has rows of 3 numbers.
func testScheme(id byte) *cipher {
	x := &index.Index{ID: cpar.IndexID{id}, Key: seed.Secret{1}}
	return open(x, rows.NewQuantiser(vectorlayout.SquaredL2(dim, 1000), false))
}

func fresh() (s seed.Secret) {
	rand.Read(s[:])
	return s
}

// units returns n distinct rows in blocks.
func units(n int) (out []rows.Rows) {
	for i := range n {
		if i%cpar.LocalBlockRecords == 0 {
			out = append(out, *rows.New(dim))
		}
		out[len(out)-1].Add([]int16{int16(i), int16(-i), 7}, int64(i)*-1000)
	}
	return out
}

func decrypt(s *cipher, b []byte, unit int) (*rows.Rows, int, error) {
	out := rows.New(dim)
	n, err := s.Decrypt(context.Background(), b, unit, out.Add)
	return out, n, err
}

// TestBlocksRoundTrip covers complete and incomplete blocks and the
// numbering in the next generation.
func TestBlocksRoundTrip(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 64} {
		s := testScheme(2)
		all := units(n)
		b, _, err := s.Encrypt(0, all, fresh())
		if err != nil {
			t.Fatal(err)
		}
		if want := len(all) * int(cpar.LocalBlockBytes(dim)); len(b) != want {
			t.Errorf("%d records take %d bytes, want %d", n, len(b), want)
		}
		got, blocks, err := decrypt(s, b, 0)
		if err != nil || got.Len() != n || blocks != len(all) {
			t.Fatalf("%d records in %d blocks, %v", got.Len(), blocks, err)
		}
		for i := range n {
			row, addend := got.At(i)
			want, wantAddend := all[i/cpar.LocalBlockRecords].At(i % cpar.LocalBlockRecords)
			if !slices.Equal(row, want) || addend != wantAddend {
				t.Errorf("record %d is %v, %d", i, row, addend)
			}
		}
		next := s.Next(s.index).(*cipher)
		more, hints, err := next.Encrypt(len(all)*cpar.LocalBlockRecords, units(2), fresh())
		if err != nil || hints != nil {
			t.Fatal(hints, err)
		}
		if _, _, err := decrypt(next, more, len(all)); err != nil {
			t.Errorf("the block after %d: %v", len(all), err)
		}
		if _, blocks, err := decrypt(next, slices.Concat(b, more), 0); err != nil || blocks != len(all)+1 {
			t.Errorf("all blocks: %d, %v", blocks, err)
		}
	}
}

func TestBlocksAreBound(t *testing.T) {
	s := testScheme(2)
	b, _, err := s.Encrypt(0, units(40), fresh())
	if err != nil {
		t.Fatal(err)
	}
	size := s.bytes()
	first, second := b[:size], b[size:]
	sameKey := testScheme(3)
	sameKey.box = s.box
	for name, c := range map[string]struct {
		scheme *cipher
		bytes  []byte
		unit   int
	}{
		"block 0 as block 1":  {s, first, 1},
		"blocks swapped":      {s, slices.Concat(second, first), 0},
		"a block twice":       {s, slices.Concat(first, first), 0},
		"of another index":    {testScheme(3), b, 0},
		"of one with its key": {sameKey, b, 0},
		"cut short":           {s, b[:size+9], 0},
		"a byte more":         {s, append(bytes.Clone(b), 0), 0},
	} {
		if _, _, err := decrypt(c.scheme, c.bytes, c.unit); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range first {
		bad := bytes.Clone(first)
		bad[i] ^= 1
		if _, _, err := decrypt(s, bad, 0); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("byte %d altered: %v", i, err)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Decrypt(stopped, b, 0, func([]int16, int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestHeldOnlyWhole checks that a damaged segment leaves the held records
// unchanged.
func TestHeldOnlyWhole(t *testing.T) {
	s := testScheme(2)
	if s.Held() != -1 {
		t.Errorf("%d records are held at first", s.Held())
	}
	b, _, err := s.Encrypt(0, units(40), fresh())
	if err != nil {
		t.Fatal(err)
	}
	size := s.bytes()
	if err := s.Hold(cpar.SegmentVectors, [][]byte{b[:size], b[size:]}); err != nil || s.Held() != 40 {
		t.Fatalf("%d records are held, %v", s.Held(), err)
	}
	if err := s.Hold(cpar.SegmentVectors, [][]byte{b[size:], b[:size]}); !errors.Is(err, cpar.ErrCorrupt) || s.Held() != 40 {
		t.Errorf("segments swapped: %v; %d records are held", err, s.Held())
	}
	u := []int16{1, 2, 3}
	q, scores, err := s.Request(u, -1, fresh())
	if err != nil || q != nil {
		t.Fatalf("%v was sent, %v", q, err)
	}
	got, err := scores(nil)
	if err != nil || len(got) != 40 {
		t.Fatal(got, err)
	}
	for i, x := range got {
		if want := int64(i) - 2*int64(i) + 3*7 + int64(i)*-1000; x != want {
			t.Errorf("record %d scores %d, want %d", i, x, want)
		}
	}
}

func TestScoresAreTheTwins(t *testing.T) {
	x, c := fixtures.Index(t, cpar.SchemeLocal, profile.Paper, syntheticphotos.Photos(33, 1), rand.Reader)
	b, err := Kind.SetUp(x, c, rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	twin, err := b.Twin()
	if err != nil {
		t.Fatal(err)
	}
	at := fixtures.Write(t, fixtures.Folder(t), x, b)
	s := open(x, rows.NewQuantiser(x.Profile.Layout(), false))
	if err := s.Hold(cpar.SegmentVectors, at.Segments()[:2]); err != nil { // a complete block and the tail
		t.Fatal(err)
	}
	for _, v := range c.Vectors()[:5] {
		want, err := twin.(*rows.Twin).Scores(v)
		if err != nil {
			t.Fatal(err)
		}
		u, err := twin.(*rows.Twin).Request(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.held.Load().Scores(u, runtime.GOMAXPROCS(0)); !slices.Equal(got, want) {
			t.Errorf("scores %v, the twin has %v", got, want)
		}
	}
}

func TestSchemePrintsRedacted(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, testScheme(2)); !strings.Contains(got, "redacted") || len(got) > 40 {
			t.Errorf("it prints as %.60q with %s", got, verb)
		}
	}
}

func FuzzLocalBlock(f *testing.F) {
	s := testScheme(2)
	plain := make([]byte, s.bytes()-aead.Overhead)
	plain[0] = 2
	binary.LittleEndian.PutUint16(plain[4:], 0xfff0)
	f.Add(plain)
	padded := bytes.Clone(plain)
	padded[len(padded)-1] = 1
	f.Add(padded)
	f.Add(slices.Repeat([]byte{0xff}, len(plain)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != len(plain) {
			return
		}
		out := rows.New(dim)
		if err := s.decode(b, out.Add); err != nil {
			return
		}
		// Decrypted rows encrypt to the same block.
		const number = 3
		enc, _, err := s.Encrypt(number*cpar.LocalBlockRecords, []rows.Rows{*out}, fresh())
		if err != nil {
			t.Fatal(err)
		}
		back, err := s.box.Open(enc, s.binding(number))
		if err != nil || string(back) != string(b) {
			t.Errorf("encoded differently: %v", err)
		}
		if _, _, err := decrypt(s, enc, number+1); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("block %d as the next: %v", number, err)
		}
	})
}
