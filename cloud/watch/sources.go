package watch

import (
	"context"
	"fmt"
	"time"

	"cpar/cloud/admit"
	"cpar/cloud/listen"
	"cpar/cloud/tenant"
)

// What each part of the cloud counts, and where that goes.

// Gate watches who waits for what, and who is sent away.
func (m *Metrics) Gate(stats func() admit.Stats) {
	m.pull(func(s sink) {
		st := stats()
		for _, q := range []struct {
			what string
			admit.QueueStats
		}{{"bodies", st.Bodies}, {"replies", st.Replies}, {"turns", st.Turns}, {"checks", st.Checks}, {"builds", st.Builds}} {
			s.put(queueWaiting, float64(q.Waiting), q.what)
			s.put(queueSize, float64(q.Size), q.what)
			s.put(queueUsed, float64(q.Used), q.what)
			s.put(queueGranted, float64(q.Granted), q.what)
			s.put(queueSeconds, q.Waited.Seconds(), q.what)
			s.put(shedTotal, float64(q.Refused), q.what, "full")
			s.put(shedTotal, float64(q.Expired), q.what, "wait")
		}
		s.put(shedTotal, float64(st.Limited), "tenant", "limit")
		sizes := st.Passes.Sizes[:]
		bounds := make([]float64, len(sizes)-1) // the last has no bound
		for i := range bounds {
			bounds[i] = float64(int(1) << i)
		}
		s.distribution(passSize, float64(st.Passes.Requests), bounds, sizes)
	})
}

// Tenants watches who is let in.
func (m *Metrics) Tenants(stats func() tenant.Stats) {
	m.pull(func(s sink) {
		st := stats()
		s.put(tenantsKnown, float64(st.Tenants))
		s.put(tokensRefused, float64(st.Refused))
		s.put(guessesLimited, float64(st.Limited))
	})
}

// Listener watches the network's side.
func (m *Metrics) Listener(stats func() listen.Stats) {
	m.pull(func(s sink) {
		st := stats()
		s.put(connectionsMax, float64(st.MaxConnections))
		s.put(acceptErrors, float64(st.AcceptErrors))
		s.put(certificateRefused, float64(st.Refused))
		if !st.CertificateTo.IsZero() {
			s.put(certificateEnd, float64(st.CertificateTo.Unix()))
		}
	})
}

// Certificate checks that the certificate does not end soon: ACME renews a month before.
func Certificate(stats func() listen.Stats) Check {
	const soon = 7 * 24 * time.Hour
	return Check{Name: "certificate", Run: func(context.Context) error {
		if end := stats().CertificateTo; !end.IsZero() && time.Until(end) < soon {
			return fmt.Errorf("the certificate ends at %s", end.UTC().Format(time.RFC3339))
		}
		return nil
	}}
}
