package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"cpar"
	"cpar/cloud/album"
	"cpar/internal/indexdir"
)

// A scrub reads every active index (from the backend and then in memory) and all
// albums at a bounded rate to find damage. It also finds indexes that were
// repaired externally.

const scrubPiece = 256 << 10

func (s *Store[T]) scrub(ctx context.Context) {
	limit := rate.NewLimiter(rate.Limit(s.o.ScrubRate), scrubPiece)
	pace := func(ctx context.Context, n int) error {
		if err := limit.WaitN(ctx, n); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.counts.ScrubBytes += uint64(n)
		return nil
	}
	for {
		next := time.After(s.o.ScrubEvery)
		s.scrubRound(ctx, pace)
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
	}
}

func (s *Store[T]) scrubRound(ctx context.Context, pace album.Pace) {
	keys, err := AllKeys(ctx, s.backend)
	for i, k := range keys {
		s.mu.Lock()
		s.counts.ScrubDone, s.counts.ScrubOf = i, len(keys)
		s.mu.Unlock()
		if ctx.Err() == nil {
			err = errors.Join(err, s.scrubIndex(ctx, k, pace))
		}
	}
	damaged := 0
	err = errors.Join(err, checkAlbums(ctx, s.backend, s.albums, true, pace, func(x Info) {
		if x.Err != nil {
			damaged++
			s.o.Log.Error("an album is damaged; copy the blob from a backup", "tenant", x.Tenant, "album", x.Album, "fault", x.Err)
		}
	}))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.o.Log.Warn("a scrub could not read everything", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.ScrubDone, s.counts.ScrubRounds = len(keys), s.counts.ScrubRounds+1
	s.counts.AlbumsDamaged = damaged
}

// scrubIndex reads one index and records damage. It returns other errors.
func (s *Store[T]) scrubIndex(ctx context.Context, k IndexRef, pace album.Pace) error {
	for {
		before, err := s.backend.Manifest(ctx, k)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil {
			err = CheckIndex(ctx, s.backend, k, pace)
		}
		if err == nil {
			err = s.scrubMemory(ctx, k, pace)
			s.clearDamage(ctx, k, before)
			return err
		}
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if faultOf(err) == "" {
			return err
		}
		if again, err := s.confirmFault(ctx, k, err); !again {
			return err
		}
	}
}

// confirmFault checks a fault again while the entry's lock prevents pushes, and
// records it. Result `again` reports that the fault is gone, so that the caller
// should scrub the index again.
func (s *Store[T]) confirmFault(ctx context.Context, k IndexRef, fault error) (again bool, err error) {
	e, unlock, err := s.locked(k)
	if err != nil {
		return false, err
	}
	defer unlock()
	m, err := readManifest(ctx, s.backend, k)
	if at := (*segmentFault)(nil); err == nil && errors.As(fault, &at) {
		if !slices.Contains(m.Segments, at.Segment) {
			return true, nil
		}
		err = checkSegment(ctx, s.backend, k, at.Segment, nil)
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrNotFound):
		return false, nil
	case faultOf(err) == "":
		return false, err
	}
	s.mu.Lock()
	known := e.damage != nil
	s.mu.Unlock()
	if !known {
		_ = s.damaged(e, err)
	}
	return false, nil
}

// clearDamage clears the recorded damage of an index. The caller has found manifest b
// and its segments intact.
func (s *Store[T]) clearDamage(ctx context.Context, k IndexRef, b []byte) {
	s.mu.Lock()
	e := s.entries[loadRef{IndexRef: k}]
	damage := e != nil && e.damage != nil
	s.mu.Unlock()
	if !damage {
		return
	}
	e, unlock, err := s.locked(k)
	if err != nil {
		return
	}
	defer unlock()
	if now, err := s.backend.Manifest(ctx, k); err == nil && bytes.Equal(b, now) {
		s.drop(e)
		s.o.Log.Info("an index that was damaged is whole again", "tenant", k.Tenant, "index", k.Index.String())
	}
}

// scrubMemory reads the loaded bytes of an index. If they have changed, it
// unloads the index.
func (s *Store[T]) scrubMemory(ctx context.Context, k IndexRef, pace album.Pace) error {
	s.mu.Lock()
	e := s.entries[loadRef{IndexRef: k}]
	var open *loadedIndex[T]
	if e != nil && e.open != nil {
		open = e.open
		open.index.Retain()
	}
	s.mu.Unlock()
	if open == nil {
		return nil
	}
	defer open.index.Release()
	for i, seg := range open.index.Manifest().Segments {
		sum, err := digestOf(ctx, open.index.Segments()[i], pace)
		if err != nil && faultOf(err) == "" {
			return err
		}
		if err == nil && sum != seg.Digest {
			err = fmt.Errorf("segment %v %.8v…: %w", seg.Kind, seg.Digest, errMemory)
		}
		if err != nil {
			s.distrust(loadRef{IndexRef: k}, open, err)
			return nil
		}
	}
	return nil
}

var (
	errMemory = errors.New("its bytes in memory have changed")
	errMap    = errors.New("its memory map cannot be read")
)

// digestOf returns the digest of b, or an error for an unreadable memory map.
func digestOf(ctx context.Context, b []byte, pace album.Pace) (d cpar.Digest, err error) {
	h := sha256.New()
	var fault error
	for len(b) > 0 && err == nil && fault == nil {
		n := min(len(b), scrubPiece)
		if err = pace(ctx, n); err == nil {
			_ = catch(&fault, func() error { h.Write(b[:n]); return nil })
		}
		b = b[n:]
	}
	return cpar.Digest(h.Sum(nil)), errors.Join(err, fault)
}

// distrust unloads an index that is damaged in memory.
func (s *Store[T]) distrust(x loadRef, open *loadedIndex[T], fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Faults[faultOf(fault)]++
	s.o.Log.Error("an index is damaged in memory; it will be loaded again", "tenant", x.Tenant, "index", x.Index.String(), "fault", fault)
	if e := s.entries[x]; e != nil && e.open == open {
		s.unload(e)
	}
}

func faultOf(err error) Fault {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errMemory):
		return FaultMemory
	case errors.Is(err, errMap):
		return FaultMap
	case errors.Is(err, indexdir.ErrMissing):
		return FaultMissing
	case isFault(err):
		return FaultBytes
	case errors.Is(err, ErrDamaged):
		return FaultManifest
	case errors.Is(err, syscall.EIO):
		return FaultUnreadable
	case errors.Is(err, cpar.ErrCorrupt):
		return FaultLoader
	}
	return ""
}
