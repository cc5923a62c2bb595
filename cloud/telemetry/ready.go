package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"cpar/cparhttp"
	"cpar/internal/durable"
)

// A Check looks for one thing that can be wrong with a cloud.
type Check struct {
	// Name is a value of a label: of a closed list, never of an index.
	Name string
	// Serving: while it fails, nobody can be served. The others are for the operator, and no
	// reason to send requests elsewhere: with a damaged index one tenant would stop all.
	Serving bool
	// Run returns what is wrong, for the operator. It must be quick, and name no index.
	Run func(context.Context) error
}

// A Fault is a check that failed.
type Fault struct {
	Check   string `json:"check"`
	Detail  string `json:"detail"`
	Serving bool   `json:"serving"` // nobody can be served
}

// fresh is how long what the checks found is believed: strangers may ask as often as they like.
const fresh = time.Second

// longestCheck bounds all checks of one round together.
const longestCheck = 10 * time.Second

// Readiness runs checks.
type Readiness struct {
	checks []Check

	mu     sync.Mutex
	at     time.Time
	faults []Fault
}

// NewReadiness returns checks that run when somebody asks.
func NewReadiness(checks ...Check) *Readiness { return &Readiness{checks: checks} }

// faultsNow runs the checks, unless they ran just now.
func (r *Readiness) faultsNow(ctx context.Context) []Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < fresh {
		return r.faults
	}
	// Others are told the same, so it is not for the first who asks to break off.
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

// Serves reports whether requests can be answered at all; api.Options.Ready.
func (r *Readiness) Serves(ctx context.Context) bool {
	for _, f := range r.faultsNow(ctx) {
		if f.Serving {
			return false
		}
	}
	return true
}

// samples reports each check as a metric.
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

// An unready problem names what is wrong. It is for the listener of the operator.
type unready struct {
	cparhttp.Problem
	Faults []Fault `json:"faults"`
}

// ServeHTTP answers the operator: 503 with all that is wrong, serving or not.
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

// Folder checks that the data folder can be read.
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

// Storage checks that object storage can be reached. Without, what is loaded is still answered.
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

// Room checks that the disk has at least so many bytes free. Without, nothing can be pushed,
// and what is there is still answered.
func FreeSpaceCheck(data string, need int64) Check {
	return Check{Name: "room", Run: func(context.Context) error {
		if free, ok := durable.FreeBytes(data); ok && free < need {
			return fmt.Errorf("%d MB are free for the data folder, less than %d MB", free>>20, need>>20)
		}
		return nil
	}}
}
