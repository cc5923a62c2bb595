package api

import (
	"net/http"

	"cpar/cloud/admission"
	"cpar/cloud/tenant"
)

// limit refuses requests beyond the rate of their tenant.
func (s *server) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := tenant.FromContext(r.Context())
		leave, err := s.gate.Enter(p.Tenant, admission.Rate{PerSecond: p.Limits.RequestsPerSecond, Burst: p.Limits.Burst, Concurrent: p.Limits.Concurrent})
		if err != nil {
			s.problemOf(err).write(w, r)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}
