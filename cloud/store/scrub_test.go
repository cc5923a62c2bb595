package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

func ofScheme(t *testing.T, scheme cpar.Scheme) owner {
	t.Helper()
	o := owner{m: &cpar.Manifest{Scheme: scheme, ID: cpar.IndexID{byte(scheme), 7}, Records: 5, Dim: 7, KeywordBytes: 16}}
	sizes := map[cpar.SegmentKind]int{cpar.SegmentVectors: 5 * 7 * 8, cpar.SegmentKeywords: 80, cpar.SegmentLedger: 40, cpar.SegmentProfile: 48}
	switch scheme {
	case cpar.SchemeCPAR:
		o.m.Shift, o.m.Trees, o.m.Place, o.m.PlaneShift, o.m.OrderBytes, o.m.Fields, o.m.Planes = 10, 2, cpar.PlaceNode, 10, 2, 3, 4
		sizes[cpar.SegmentForest], sizes[cpar.SegmentPlanes] = 4*4+2*5*16, 4*4*8
	case cpar.SchemeIVF:
		o.m.Shift, o.m.Lists = 10, 3
		sizes[cpar.SegmentLists], sizes[cpar.SegmentCentroids] = 12, 3*7*8
	case cpar.SchemeSealed:
		o.m.KeywordBytes = cpar.KeywordPageBytes(8)
		sizes[cpar.SegmentKeywords] = int(cpar.KeywordTailBytes(o.m.KeywordBytes))
		sizes[cpar.SegmentParams], sizes[cpar.SegmentHints], sizes[cpar.SegmentIdentities] = cpar.ParamsBytes, 30, 28+5*16
	case cpar.SchemeLocal:
		o.m.KeywordBytes = cpar.KeywordPageBytes(8)
		sizes[cpar.SegmentKeywords] = int(cpar.KeywordTailBytes(o.m.KeywordBytes))
		sizes[cpar.SegmentVectors], sizes[cpar.SegmentIdentities] = int(cpar.LocalBlockBytes(7)), 28+5*16
	}
	r := rand.New(rand.NewPCG(uint64(scheme), 1))
	for kind := cpar.SegmentVectors; kind <= cpar.SegmentIdentities; kind++ {
		if sizes[kind] == 0 {
			continue
		}
		b := make([]byte, sizes[kind])
		for i := range b {
			b[i] = byte(r.Uint32()) | 1 // the tests' loader refuses a zero
		}
		o.m.Segments = append(o.m.Segments, cpar.Segment{Kind: kind, Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
		o.segments = append(o.segments, b)
	}
	var err error
	if o.bytes, err = o.m.MarshalBinary(); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o owner) key() store.IndexRef { return store.IndexRef{Index: o.m.ID} }

func (o owner) mend(t *testing.T, s *testStore) {
	t.Helper()
	missing, err := s.Missing(t.Context(), o.key(), o.m)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range missing {
		for i, seg := range o.m.Segments {
			if seg.Digest == d {
				if err := s.PutSegment(t.Context(), o.key(), d, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := s.PutManifest(t.Context(), o.key(), o.bytes); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := len(b) / 2
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{b[at] ^ 4}, int64(at))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func round(t *testing.T, s *testStore) {
	t.Helper()
	begun := s.Stats().ScrubRounds + 1 // the running one may have read the file already
	for limit := time.Now().Add(30 * time.Second); s.Stats().ScrubRounds <= begun; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("no scrub comes to an end")
		}
	}
}

type lines struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}
func (l *lines) text() string { l.mu.Lock(); defer l.mu.Unlock(); return l.Builder.String() }

var scrubbing = store.Options{ScrubRate: 1 << 40, ScrubEvery: time.Millisecond}

// Scrubs and collections take memory for the log of an album from the same limit
// as requests, and leave no state in memory.
func TestMaintenanceTakesMemoryForAlbums(t *testing.T) {
	data, opt := t.TempDir(), store.Options{FS: hasty{durable.OS}}
	s := open(t, data, opt)
	name := strings.Repeat("x", 100)
	for i := range 256 {
		r := album.Ref{Tenant: "00000000000000aa", Album: strings.Repeat("1", 32), Name: fmt.Sprint(name, i)}
		if _, err := s.Albums().Put(t.Context(), r, 0, sha256.Sum256(nil), nil, bytes.NewReader(nil)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	for what, task := range map[string]func(*testStore, context.Context){"a scrub": (*testStore).ScrubNow, "a collection": (*testStore).CollectNow} {
		asked, held := 0, 0
		opt.AlbumMemory = func(context.Context, string, int64) (func(), error) {
			asked++
			held++
			return func() { held-- }, nil
		}
		s = open(t, data, opt)
		task(s, t.Context())
		if n := len(s.Albums().Known()); asked == 0 || held != 0 || n > 0 {
			t.Errorf("%s asked for memory %d times, %d are held, and %d states are left", what, asked, held, n)
		}
		s.Close()
	}
}

// The index reports damage until it is pushed once, and never gives a wrong
// reply.
func TestScrubFindsFlippedBit(t *testing.T) {
	for _, memory := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge} {
		for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeIVF, cpar.SchemeSealed, cpar.SchemeLocal} {
			t.Run(memory.String()+" "+scheme.String(), func(t *testing.T) { flippedBits(t, memory, ofScheme(t, scheme)) })
		}
	}
}

func flippedBits(t *testing.T, memory indexdir.Memory, o owner) {
	data, log := t.TempDir(), &lines{}
	opt := scrubbing
	opt.Memory, opt.Log = memory, slog.New(slog.NewTextHandler(log, nil))
	s := open(t, data, opt)
	defer s.Maintain(t.Context())()
	other := built(t, 99, 1)
	for _, x := range []owner{o, other} {
		if err := x.push(s); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(data, "indexes", o.m.ID.String())
	files := map[string]string{"manifest": filepath.Join(folder, "manifest")}
	for _, seg := range o.m.Segments {
		files[seg.Kind.String()] = indexdir.SegmentPath(folder, seg.Digest)
	}
	for name, path := range files {
		for _, loaded := range []bool{true, false} {
			if !o.has(t, s) {
				t.Fatalf("%s: the index is damaged at the start", name)
			}
			if !loaded {
				s.UnloadAll()
			}
			faults := total(s)
			flip(t, path)
			round(t, s)
			if st := s.Stats(); total(s) == faults || st.Damaged != 1 {
				t.Errorf("%s: faults %v, %d indexes damaged", name, st.Faults, st.Damaged)
			}
			if said := log.text(); !strings.Contains(said, "index="+o.m.ID.String()) || name != "manifest" && !strings.Contains(said, "segment "+name) {
				t.Errorf("%s is not named: %s", name, said)
			}
			if _, err := s.Get(t.Context(), o.key()); !errors.Is(err, store.ErrDamaged) || !errors.Is(err, cpar.ErrCorrupt) || strings.Contains(err.Error(), data) {
				t.Errorf("%s: %v", name, err)
			}
			if list, err := s.List(t.Context(), ""); err != nil || len(list) != 2 || (list[0].Err != nil) == (list[1].Err != nil) {
				t.Errorf("%s: listed %+v, %v", name, list, err)
			}
			if !other.has(t, s) {
				t.Errorf("%s: another index is gone", name)
			}
			o.mend(t, s)
			faults = total(s)
			if !o.has(t, s) || s.Stats().Damaged != 0 {
				t.Errorf("%s: one push does not repair it", name)
			}
			round(t, s)
			if total(s) != faults || !o.has(t, s) {
				t.Errorf("%s: repaired, and found damaged again: %v", name, s.Stats().Faults)
			}
		}
	}
}

func total(s *testStore) (n uint64) {
	for _, count := range s.Stats().Faults {
		n += count
	}
	return n
}

func TestPushRepairsLoadedIndex(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	o := ofScheme(t, cpar.SchemeSealed)
	if err := o.push(s); err != nil {
		t.Fatal(err)
	}
	flip(t, indexdir.SegmentPath(filepath.Join(data, "indexes", o.m.ID.String()), o.m.Segments[0].Digest))
	if h, err := s.Get(t.Context(), o.key()); err != nil {
		t.Fatal(err)
	} else {
		if bytes.Equal(h.Segments()[0], o.segments[0]) {
			t.Fatal("the map does not show the flipped bit: the test tests nothing")
		}
		h.Release()
	}
	o.mend(t, s)
	if !o.has(t, s) {
		t.Error("a push repairs nothing")
	}
}

func TestScrubFindsDamageInMemory(t *testing.T) {
	opt := scrubbing
	opt.Memory = indexdir.MemoryHuge
	s := open(t, t.TempDir(), opt)
	o := ofScheme(t, cpar.SchemeCAPIA)
	if err := o.push(s); err != nil {
		t.Fatal(err)
	}
	h, err := s.Get(t.Context(), o.key())
	if err != nil {
		t.Fatal(err)
	}
	if s.Stats().Copied == 0 {
		t.Skip("nothing is copied on this machine")
	}
	h.Segments()[0][3] ^= 1
	h.Release()
	defer s.Maintain(t.Context())()
	round(t, s)
	if st := s.Stats(); st.Faults[store.FaultMemory] != 1 || st.Damaged != 0 || !o.has(t, s) {
		t.Errorf("%+v", st)
	}
}

func TestRepairedIndexReturnsToService(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, scrubbing)
	o := ofScheme(t, cpar.SchemeCPAR)
	if err := o.push(s); err != nil {
		t.Fatal(err)
	}
	defer s.Maintain(t.Context())()
	path := indexdir.SegmentPath(filepath.Join(data, "indexes", o.m.ID.String()), o.m.Segments[1].Digest)
	for _, damage := range []func(){
		func() { flip(t, path) }, func() { os.Remove(path) }, func() { os.Truncate(path, 1) }, func() { os.Remove(path); os.Mkdir(path, 0o700) },
	} {
		damage()
		round(t, s)
		if _, err := s.Get(t.Context(), o.key()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("damaged: %v", err)
		}
		os.Remove(path)
		if err := os.WriteFile(path, o.segments[1], 0o600); err != nil {
			t.Fatal(err)
		}
		round(t, s)
		if !o.has(t, s) {
			t.Error("repaired, and it does not answer")
		}
	}
}

// Only the call that reads the map fails. Then the store checks the files.
func TestMapFaultUnloadsTheIndex(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on this system")
	}
	data := t.TempDir()
	s := open(t, data, store.Options{})
	o := ofScheme(t, cpar.SchemeCPAR)
	if err := o.push(s); err != nil {
		t.Fatal(err)
	}
	path := indexdir.SegmentPath(filepath.Join(data, "indexes", o.m.ID.String()), o.m.Segments[0].Digest)
	cut := func() {
		t.Helper()
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		r, err := s.OpenSegment(t.Context(), o.key(), o.m.Segments[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if b, err := io.ReadAll(r); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%d bytes of a segment that is gone, %v", len(b), err)
		}
	}
	cut()
	if _, err := s.Get(t.Context(), o.key()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("cut short: %v", err)
	}
	o.mend(t, s)
	if !o.has(t, s) {
		t.Error("not mended")
	}
	cut()
	if err := os.WriteFile(path, o.segments[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); !o.has(t, s) || st.Faults[store.FaultMap] != 2 || st.Damaged != 0 {
		t.Errorf("%+v", st)
	}
}

// The rate is tested with a counting limiter, without a clock.
func TestCheckPaces(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	o := ofScheme(t, cpar.SchemeCPAR)
	if err := o.push(s); err != nil {
		t.Fatal(err)
	}
	beside, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	stop := errors.New("enough")
	err = store.CheckIndex(t.Context(), beside, o.key(), func(_ context.Context, n int) error {
		if asked += n; asked >= int(o.m.Bytes()) {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || asked > int(o.m.Bytes())+len(o.segments) {
		t.Errorf("asked for %d of %d bytes, %v", asked, o.m.Bytes(), err)
	}
}
