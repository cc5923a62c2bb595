package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cpar/cloud/admission"
	"cpar/cloud/cluster"
	"cpar/cloud/listen"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
)

// poll calls `put` with current statistics at each collection.
func poll[S any](m *Metrics, stats func() S, put func(sink, S)) {
	m.addSource(func(s sink) { put(s, stats()) })
}

func (m *Metrics) Gate(stats func() admission.Stats) {
	poll(m, stats, func(s sink, st admission.Stats) {
		for _, q := range []struct {
			what string
			admission.QueueStats
		}{{"bodies", st.Bodies}, {"replies", st.Replies}, {"turns", st.Turns}, {"checks", st.Checks}, {"builds", st.Builds}, {"strangers", st.Strangers}, {"answers", st.Answers}} {
			s.put(queueWaiting, float64(q.Waiting), q.what)
			s.put(queueSize, float64(q.Size), q.what)
			s.put(queueUsed, float64(q.Used), q.what)
			s.put(queueGranted, float64(q.Granted), q.what)
			s.put(queueSeconds, q.Waited.Seconds(), q.what)
			s.put(shedTotal, float64(q.Refused), q.what, "full")
			s.put(shedTotal, float64(q.Expired), q.what, "wait")
		}
		s.put(shedTotal, float64(st.Limited), "tenant", "limit")
		sizes := st.Batches.Sizes[:]
		bounds := make([]float64, len(sizes)-1) // the last count has no upper bound
		for i := range bounds {
			bounds[i] = float64(int(1) << i)
		}
		s.distribution(batchSize, float64(st.Batches.Requests), bounds, sizes)
	})
}

func (m *Metrics) Tenants(stats func() tenant.Stats) {
	poll(m, stats, func(s sink, st tenant.Stats) {
		s.put(tenantsKnown, float64(st.Tenants))
		s.put(tokensRefused, float64(st.Refused))
		s.put(guessesLimited, float64(st.Limited))
	})
}

func (m *Metrics) Storage(stats func() remote.Stats) {
	poll(m, stats, func(s sink, st remote.Stats) {
		s.put(storageRequests, float64(st.Requests))
		s.put(storageRetries, float64(st.Retries))
		s.put(storageErrors, float64(st.Errors))
		s.put(storageBytes, float64(st.BytesIn), "received")
		s.put(storageBytes, float64(st.BytesOut), "sent")
		s.put(cacheBytes, float64(st.CacheBytes))
		s.put(cacheLimit, float64(st.CacheLimit))
		s.put(cacheSegments, float64(st.Hits), "hit")
		s.put(cacheSegments, float64(st.Misses), "miss")
		s.put(cacheSegments, float64(st.Evictions), "evicted")
	})
}

func (m *Metrics) Cluster(stats func() cluster.Stats) {
	poll(m, stats, func(s sink, st cluster.Stats) {
		s.put(clusterNodes, float64(st.Nodes))
		s.put(clusterServers, float64(st.Servers))
		s.put(clusterParts, float64(st.Shards))
		s.put(clusterMoves, float64(st.Moves))
		s.put(clusterHedges, float64(st.Hedges))
		s.put(clusterRetries, float64(st.Retries))
		s.put(clusterCold, float64(st.Cold))
	})
}

func (m *Metrics) Listener(stats func() listen.Stats) {
	poll(m, stats, func(s sink, st listen.Stats) {
		s.put(connectionsMax, float64(st.MaxConnections))
		s.put(acceptErrors, float64(st.AcceptErrors))
		s.put(certificateRefused, float64(st.Refused))
		if !st.CertificateTo.IsZero() {
			s.put(certificateEnd, float64(st.CertificateTo.Unix()))
		}
	})
}

func (m *Metrics) Store(stats func() store.Stats) {
	poll(m, stats, func(s sink, st store.Stats) {
		s.put(indexesLoaded, float64(st.Loaded))
		s.put(loadedBytes, float64(st.Mapped), "mapped")
		s.put(loadedBytes, float64(st.Copied), "copied")
		s.put(loadsTotal, float64(st.Loads))
		s.put(unloadsTotal, float64(st.Unloaded))
		s.put(indexesDamaged, float64(st.Damaged))
		for kind, n := range st.Faults {
			s.put(faultsTotal, float64(n), string(kind))
		}
		s.put(scrubRounds, float64(st.ScrubRounds))
		s.put(scrubBytes, float64(st.ScrubBytes))
		s.put(scrubDone, float64(st.ScrubDone))
		s.put(scrubOf, float64(st.ScrubOf))
		s.put(collectedTotal, float64(st.Collected))
		s.put(collectedBytes, float64(st.CollectedBytes))
		s.put(albumsDamaged, float64(st.AlbumsDamaged))
		s.put(purgedTotal, float64(st.Purged))
		s.put(purgedBytes, float64(st.PurgedBytes))
		stored, deleted := map[string]int64{}, map[string]int64{} // tenants with label other are added up
		for tenant, u := range st.Tenants {
			label := m.tenants.label(tenant)
			if label == "" {
				continue
			}
			stored[label] += u.Active + u.Pending + u.Reserved + u.Albums.Bytes + u.Albums.DeletedBytes
			deleted[label] += u.Albums.DeletedBytes
			if u.Limit > 0 && label != other {
				s.put(quotaBytes, float64(u.Limit), label)
			}
		}
		for label, n := range stored {
			s.put(storedBytes, float64(n), label)
			s.put(deletedBytes, float64(deleted[label]), label)
		}
	})
}

// DamageCheck checks that no index is damaged. The log and the command "cpard
// check" list damaged indexes.
func DamageCheck(stats func() store.Stats) Check {
	return Check{Name: "damage", Run: func(context.Context) error {
		if n := stats().Damaged; n > 0 {
			return fmt.Errorf("%d indexes are damaged; cpard check says which must be pushed again", n)
		}
		if n := stats().AlbumsDamaged; n > 0 {
			return fmt.Errorf("%d albums are damaged; cpard check names them", n)
		}
		return nil
	}}
}

// ScrubCheck checks that scrubbing (reading stored data to find damage) makes
// progress within the duration `still`, including the wait for the next round.
func ScrubCheck(stats func() store.Stats, still time.Duration) Check {
	var mu sync.Mutex
	var last [2]uint64
	since := time.Now()
	return Check{Name: "scrub", Run: func(context.Context) error {
		st := stats()
		mu.Lock()
		defer mu.Unlock()
		if now := [2]uint64{st.ScrubRounds, st.ScrubBytes}; now != last {
			last, since = now, time.Now()
		}
		// If scrubbing has never made progress, it is disabled.
		if stood := time.Since(since); stood > still && last != [2]uint64{} {
			return fmt.Errorf("scrubbing has made no progress for %v", stood.Round(time.Minute))
		}
		return nil
	}}
}

func CertificateCheck(stats func() listen.Stats) Check {
	const soon = 7 * 24 * time.Hour
	return Check{Name: "certificate", Run: func(context.Context) error {
		if end := stats().CertificateTo; !end.IsZero() && time.Until(end) < soon {
			return fmt.Errorf("the certificate expires at %s", end.UTC().Format(time.RFC3339))
		}
		return nil
	}}
}
