package tenant

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cpar"
	"cpar/internal/bearer"
)

var (
	// ErrToken: no token, or none that is known here.
	ErrToken = errors.New("the token is not known here")
	// ErrMissing: a token is needed, and there is none. It comes wrapped with ErrToken.
	ErrMissing = errors.New("a token is needed")
)

// A Guessing is the error of an address that has shown too many wrong tokens.
type GuessLimitError struct{ After time.Duration }

func (g *GuessLimitError) Error() string {
	return "too many wrong tokens came from this address, or from all together"
}

// recheck is how old a look at the file may be, and Heard after how long a daemon has taken
// over a change.
const (
	recheck     = time.Second
	ReloadDelay = recheck + 100*time.Millisecond
)

// A Registry knows the tenants of a data folder while a daemon serves it. It reads the file
// again when it has changed, so that a token that was removed ends within a second.
type Registry struct {
	data string
	log  *slog.Logger
	now  func() time.Time

	guesses *guessLimiter

	mu      sync.Mutex
	looked  time.Time   // when the file was looked at
	read    fs.FileInfo // of the file that grants is from; nil if there was none
	grants  map[uint64][]grant
	needed  bool             // a token is; never turns back while the daemon runs
	damaged error            // of the last look; nobody comes in
	storage map[string]int64 // limits of tenants
	tenants int
}

// A grant is what a token may do.
type grant struct {
	digest    cpar.Digest
	until     time.Time
	principal Principal
}

// Open reads the registry of a data folder, which need not have one. Everybody needs a token
// if there is one, even of no tenants, or data of tenants; else if strangers can reach the
// daemon, as needed says.
func Open(data string, needed bool, log *slog.Logger) (*Registry, error) {
	r := &Registry{data: data, log: log, now: time.Now, needed: needed, guesses: newGuessLimiter(time.Now)}
	if log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.reload()
	if r.damaged != nil {
		return nil, r.damaged
	}
	// Tenants' data without a registry is a lost file, not a cloud of one user.
	if _, err := os.Lstat(filepath.Join(data, Folder)); err == nil {
		r.needed = true
	}
	return r, nil
}

// Folder is where the data of tenants lies in the data folder, by id.
const Folder = "tenants"

// Needed reports whether everybody needs a token.
func (r *Registry) Needed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(false)
	return r.needed
}

// Authenticate finds out whose a request is, without reading its body. Errors are ErrToken, a
// *Guessing, or cpar.ErrStorage where the registry cannot be read.
func (r *Registry) Authenticate(q *http.Request) (Principal, error) {
	if !r.Needed() {
		return Principal{}, nil // also with a token: it is one for another day
	}
	token, err := bearer.FromHeader(q.Header)
	// What is no token at all is looked for like any other: nothing tells by its time how far
	// a guess came.
	p, found, damaged := r.find(token.Digest())
	if damaged != nil {
		return Principal{}, damaged
	}
	if err == nil && found {
		// Also from an address that others guess from: behind one proxy or one router they
		// would lock each other out, and 256 random bits are not found by trying.
		return p, nil
	}
	if wait := r.guesses.failed(ClientNetwork(q.RemoteAddr)); wait > 0 {
		return Principal{}, &GuessLimitError{wait}
	}
	if errors.Is(err, bearer.ErrNone) {
		return Principal{}, fmt.Errorf("%w: %w", ErrToken, ErrMissing)
	}
	return Principal{}, ErrToken
}

func (r *Registry) find(d cpar.Digest) (p Principal, found bool, damaged error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(false)
	if p, found = r.lookup(d); !found {
		// It may have been added a moment ago.
		r.refresh(true)
		p, found = r.lookup(d)
	}
	return p, found, r.damaged
}

// shelf is where a hash is looked for. What the time of looking there tells is of the first
// bytes of a hash that nobody can aim at; the rest is compared in constant time.
func shelf(d cpar.Digest) uint64 { return binary.BigEndian.Uint64(d[:]) }

func (r *Registry) lookup(d cpar.Digest) (p Principal, found bool) {
	for _, g := range r.grants[shelf(d)] {
		if subtle.ConstantTimeCompare(g.digest[:], d[:]) == 1 && (g.until.IsZero() || r.now().Before(g.until)) {
			p, found = g.principal, true
		}
	}
	return p, found
}

// refresh reads the file again if it has changed; the caller holds mu.
func (r *Registry) refresh(now bool) {
	if t := r.now(); now || t.Sub(r.looked) >= recheck || t.Before(r.looked) {
		info, err := os.Lstat(path(r.data))
		if same := err == nil && r.read != nil && os.SameFile(info, r.read) && info.Size() == r.read.Size() && info.ModTime().Equal(r.read.ModTime()); same && r.damaged == nil {
			r.looked = t
			return
		}
		if errors.Is(err, fs.ErrNotExist) && r.read == nil && r.damaged == nil {
			r.looked = t
			return
		}
		r.reload()
	}
}

// reload reads the file. One that is gone has no tenants; one that is damaged lets nobody in:
// it may be the one that should have ended a token.
func (r *Registry) reload() {
	before := r.damaged
	r.looked, r.grants, r.read, r.damaged, r.tenants, r.storage = r.now(), nil, nil, nil, 0, nil
	l, info, err := read(r.data)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	r.needed = true
	if err != nil {
		r.damaged = err
		if before == nil || before.Error() != err.Error() {
			r.log.Error("nobody may come in: the registry of tenants cannot be read", "error", err)
		}
		return
	}
	r.read, r.tenants, r.grants = info, len(l.Tenants), map[uint64][]grant{}
	r.storage = map[string]int64{}
	for _, t := range l.Tenants {
		r.storage[t.ID] = t.Resolved().StorageBytes
		for _, k := range t.Tokens {
			scopes, _ := ParseScopes(k.Scopes) // decode has checked them
			g := grant{k.SHA256, k.Until, Principal{Tenant: t.ID, Scopes: scopes, Limits: t.Resolved()}}
			r.grants[shelf(k.SHA256)] = append(r.grants[shelf(k.SHA256)], g)
		}
	}
	r.log.Info("the registry of tenants was read", "tenants", r.tenants)
}

// Storage is how many bytes a tenant may store, 0 for any number. Who is not in the registry
// any more has no room; at a cloud without tenants there is no limit.
func (r *Registry) Storage(tenant string) int64 {
	if tenant == "" {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(true) // an upload is rare enough for a look at the file
	if limit, ok := r.storage[tenant]; ok {
		return limit
	}
	return 1
}

// Stats are numbers of a registry.
type Stats struct {
	Tenants int
	// Refused counts requests without a token that is known, Limited those of them that came
	// too fast.
	Refused, Limited int64
}

// Stats returns the numbers until now.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	n := r.tenants
	r.mu.Unlock()
	refused, limited := r.guesses.counts()
	return Stats{n, refused, limited}
}

// Neighbourhood is whose guesses and connections count together: an IPv4 address, or the 64
// bits of an IPv6 network that one customer commonly has. remote is host:port.
func ClientNetwork(remote string) netip.Prefix {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := a.Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}
