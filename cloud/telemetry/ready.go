package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"cpar/cparhttp"
	"cpar/internal/durable"
)

type Check struct {
	// Name is a label value from a closed list. It never names an index.
	Name string
	// Serving means that no request can be served while the check fails. Other
	// checks only inform the operator.
	Serving bool
	// Run returns the fault. It must be fast and must not name an index.
	Run func(context.Context) error
}

type Fault struct {
	Check   string `json:"check"`
	Detail  string `json:"detail"`
	Serving bool   `json:"serving"`
}

// fresh is the time for which results are reused. Otherwise a client that asks
// often would run the checks often.
const fresh = time.Second

const longestCheck = 10 * time.Second

type Readiness struct {
	checks []Check

	mu     sync.Mutex
	at     time.Time
	faults []Fault
}

func NewReadiness(checks ...Check) *Readiness { return &Readiness{checks: checks} }

func (r *Readiness) faultsNow(ctx context.Context) []Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < fresh {
		return r.faults
	}
	// Continue if this client leaves, because other clients reuse the result.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestCheck)
	defer cancel()
	r.faults = nil
	for _, c := range r.checks {
		if err := c.Run(ctx); err != nil {
			r.faults = append(r.faults, Fault{c.Name, err.Error(), c.Serving})
		}
	}
	r.at = time.Now()
	return r.faults
}

// Serves reports whether requests can be answered (api.Options.Ready).
func (r *Readiness) Serves(ctx context.Context) bool {
	return !slices.ContainsFunc(r.faultsNow(ctx), func(f Fault) bool { return f.Serving })
}

func (r *Readiness) samples(s sink) {
	faults := r.faultsNow(context.Background())
	for _, c := range r.checks {
		ok := 1.0
		for _, f := range faults {
			if f.Check == c.Name {
				ok = 0
			}
		}
		s.put(readyGauge, ok, c.Name)
	}
}

type unready struct {
	cparhttp.Problem
	Faults []Fault `json:"faults"`
}

// ServeHTTP answers the operator with "ok", or with status 503 and all faults.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	faults := r.faultsNow(req.Context())
	if len(faults) == 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
		return
	}
	what := make([]string, len(faults))
	for i, f := range faults {
		what[i] = f.Check + ": " + f.Detail
	}
	w.Header().Set("Content-Type", cparhttp.TypeProblem)
	w.WriteHeader(http.StatusServiceUnavailable)
	json.NewEncoder(w).Encode(unready{cparhttp.Problem{Type: "about:blank", Title: http.StatusText(http.StatusServiceUnavailable),
		Status: http.StatusServiceUnavailable, Code: cparhttp.CodeUnready, Detail: strings.Join(what, "; ")}, faults})
}

func FolderCheck(data string) Check {
	return Check{Name: "folder", Serving: true, Run: func(context.Context) error {
		f, err := os.Open(data)
		if err != nil {
			return fmt.Errorf("opening the data folder: %w", err)
		}
		defer f.Close()
		if _, err := f.Readdirnames(1); err != nil && err != io.EOF {
			return fmt.Errorf("reading the data folder: %w", err)
		}
		return nil
	}}
}

// StorageCheck checks that object storage is reachable. If it is not, loaded
// indexes are still served.
func StorageCheck(reach func(context.Context) error) Check {
	return Check{Name: "storage", Run: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := reach(ctx); err != nil {
			return fmt.Errorf("reaching the object storage: %w", err)
		}
		return nil
	}}
}

// FreeSpaceCheck checks that at least `need` bytes are free on disk, so that
// clients can push.
func FreeSpaceCheck(data string, need int64) Check {
	return Check{Name: "room", Run: func(context.Context) error {
		if free, ok := durable.FreeBytes(data); ok && free < need {
			return fmt.Errorf("%d MB are free for the data folder, less than %d MB", free>>20, need>>20)
		}
		return nil
	}}
}
