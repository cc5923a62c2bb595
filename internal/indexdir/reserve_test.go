package indexdir

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cpar"
)

func TestLocalIsMapped(t *testing.T) {
	s := system{
		available: func() (uint64, bool) { return 1 << 40, true },
		allocate:  func(n uint64) ([]byte, func(), error) { return make([]byte, n), func() {}, nil },
	}
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		m := &cpar.Manifest{Scheme: scheme, Segments: []cpar.Segment{{Kind: cpar.SegmentVectors, Bytes: 60}}}
		if got := s.reserve(MemoryHuge, m, slog.New(slog.DiscardHandler)) != nil; got != (scheme == cpar.SchemeSealed) {
			t.Errorf("%v: copied is %v", scheme, got)
		}
		if s.reserve(MemoryAuto, m, slog.New(slog.DiscardHandler)) != nil {
			t.Errorf("%v: auto copies it", scheme)
		}
	}
}

// Rows that cannot be copied, or are not worth it, are mapped, and the log
// explains surprising choices.
func TestReserve(t *testing.T) {
	manifest := func(trees uint8) *cpar.Manifest {
		return &cpar.Manifest{Scheme: cpar.SchemeCPAR, Trees: trees, Segments: []cpar.Segment{{Kind: cpar.SegmentVectors, Bytes: 60},
			{Kind: cpar.SegmentKeywords, Bytes: 1000}, {Kind: cpar.SegmentPlanes, Bytes: 40}}}
	}
	none := errors.New("none left")
	for name, c := range map[string]struct {
		memory Memory
		trees  uint8
		free   uint64
		known  bool
		err    error
		copied bool
		says   string
	}{
		"map":                       {MemoryMap, 1, 1 << 40, true, nil, false, ""},
		"huge":                      {MemoryHuge, 0, 100, true, nil, true, "copied"},
		"huge, free memory unknown": {MemoryHuge, 0, 0, false, nil, true, "copied"},
		"huge, too little free":     {MemoryHuge, 1, 99, true, nil, false, "memory is short"},
		"huge, refused":             {MemoryHuge, 1, 100, true, none, false, "none left"},
		"auto":                      {MemoryAuto, 1, 200, true, nil, true, "copied"},
		"auto, no forest":           {MemoryAuto, 0, 1 << 40, true, nil, false, ""},
		"auto, too little free":     {MemoryAuto, 1, 199, true, nil, false, "memory is short"},
		"auto, free memory unknown": {MemoryAuto, 1, 0, false, nil, false, ""},
		"auto, refused":             {MemoryAuto, 1, 200, true, none, false, "none left"},
	} {
		var log bytes.Buffer
		s := system{
			available: func() (uint64, bool) { return c.free, c.known },
			allocate:  func(n uint64) ([]byte, func(), error) { return make([]byte, n), func() {}, c.err },
		}
		r := s.reserve(c.memory, manifest(c.trees), slog.New(slog.NewTextHandler(&log, nil)))
		if (r != nil) != c.copied || r != nil && len(r.all) != 100 {
			t.Errorf("%s: %+v", name, r)
		}
		if !strings.Contains(log.String(), c.says) || c.says == "" && log.Len() > 0 {
			t.Errorf("%s: the log says %q", name, log.String())
		}
	}
}
