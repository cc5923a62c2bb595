package store

import "maps"

type Fault string

const (
	FaultManifest   Fault = "manifest"   // the manifest is malformed or belongs to another index
	FaultMissing    Fault = "missing"    // a segment is missing
	FaultBytes      Fault = "bytes"      // a segment's bytes do not match its digest
	FaultUnreadable Fault = "unreadable" // the disk cannot read a segment
	FaultMemory     Fault = "memory"     // loaded bytes have changed
	FaultMap        Fault = "map"        // a memory map could not be read
	FaultLoader     Fault = "loader"     // the bytes match the manifest but form no index
)

// Stats describes a store. Loaded, Mapped, Copied, Damaged, AlbumsDamaged,
// ScrubDone and ScrubOf are current values. The other numbers count since the
// start.
type Stats struct {
	Loaded   int   // indexes in memory
	Mapped   int64 // bytes of loaded indexes that are memory maps
	Copied   int64 // bytes of loaded indexes that are copies
	Loads    uint64
	Unloaded uint64

	Damaged int // indexes with recorded damage
	Faults  map[Fault]uint64

	ScrubRounds uint64
	ScrubBytes  uint64
	ScrubDone   int // indexes read in the current round
	ScrubOf     int // indexes to be read in the current round

	Collected      uint64 // removed segments
	CollectedBytes uint64

	AlbumsDamaged int    // damaged albums found by the last scrub
	Purged        uint64 // blobs of albums removed for good
	PurgedBytes   uint64

	// Tenants maps tenants to their usage, if they have pushed since the start or
	// their albums are in use.
	Tenants map[string]Usage
}

func (s *Store[T]) Stats() Stats {
	s.mu.Lock()
	st := s.counts
	st.Faults, st.Tenants = maps.Clone(s.counts.Faults), map[string]Usage{}
	for _, e := range s.entries {
		if e.damage != nil {
			st.Damaged++
		}
		if e.open != nil {
			st.Loaded++
			copied := int64(e.open.index.Copied())
			st.Copied += copied
			st.Mapped += int64(e.open.index.Manifest().Bytes()) - copied
		}
	}
	accounts := maps.Clone(s.accounts)
	s.mu.Unlock()
	for tenant, a := range accounts {
		a.mu.Lock()
		u := a.sum
		a.mu.Unlock()
		u.Limit = s.o.Quota(tenant)
		st.Tenants[tenant] = u
	}
	for tenant, blobs := range s.albums.Known() {
		u := st.Tenants[tenant]
		u.Limit, u.Albums = s.o.Quota(tenant), blobs
		st.Tenants[tenant] = u
	}
	return st
}
