package tenant

import (
	"cmp"
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
	// ErrToken means that a request has no known token.
	ErrToken = errors.New("the token is not known here")
	// ErrMissing means that a required token is missing. Such errors also wrap
	// ErrToken.
	ErrMissing = errors.New("a token is needed")
)

type GuessLimitError struct{ After time.Duration }

func (g *GuessLimitError) Error() string {
	return "too many wrong tokens came from this address, or from all addresses"
}

// recheck is the longest interval between checks of the registry's file while
// requests arrive. A server applies a change within ReloadDelay.
const (
	recheck     = time.Second
	ReloadDelay = recheck + 100*time.Millisecond
)

// A Registry holds the tenants of a data folder for a running server. It
// reloads a changed file, so that a removed token is invalid within a second.
type Registry struct {
	data string
	log  *slog.Logger
	now  func() time.Time

	guesses *guessLimiter

	mu      sync.Mutex
	looked  time.Time          // last check of the file
	read    fs.FileInfo        // the file that grants come from; nil if missing
	grants  map[uint64][]grant // by shelf of the token's digest
	needed  bool               // whether requests need a token; never reset while the server runs
	damaged error              // error of the last check, with which all requests fail
	storage map[string]int64   // limits by tenant
	tenants int
}

type grant struct {
	digest    cpar.Digest
	until     time.Time
	principal Principal
}

// Open reads the registry of a data folder. Requests need a token if `needed`
// is set, or if the folder contains a registry (even without tenants) or data
// of tenants.
func Open(data string, needed bool, log *slog.Logger) (*Registry, error) {
	r := &Registry{data: data, log: cmp.Or(log, slog.New(slog.DiscardHandler)), now: time.Now, needed: needed, guesses: newGuessLimiter(time.Now)}
	r.reload()
	if r.damaged != nil {
		return nil, r.damaged
	}
	// Tenants' data without a registry means that the file was lost, so tokens
	// are still needed.
	if _, err := os.Lstat(filepath.Join(data, Folder)); err == nil {
		r.needed = true
	}
	return r, nil
}

// Folder names the folder with the data of tenants, by id.
const Folder = "tenants"

func (r *Registry) Needed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(false)
	return r.needed
}

// Authenticate returns the principal for the token in a request's header. An
// error is ErrToken, a *GuessLimitError, or comes from reading the registry.
func (r *Registry) Authenticate(q *http.Request) (Principal, error) {
	if !r.Needed() {
		return Principal{}, nil // ignore any token
	}
	token, err := bearer.FromHeader(q.Header)
	// Malformed tokens are looked up too, so that the response time reveals
	// nothing about a guess.
	p, found, damaged := r.find(token.Digest())
	if damaged != nil {
		return Principal{}, damaged
	}
	if err == nil && found {
		// Accept the token even from an address that sent too many wrong tokens,
		// because otherwise clients behind one proxy could lock each other out.
		// This is safe, because 256 random bits cannot be guessed.
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
		// Reload the file, because the token may be new.
		r.refresh(true)
		p, found = r.lookup(d)
	}
	return p, found, r.damaged
}

// shelf returns the map key of a digest, its first eight bytes. Comparing
// digests takes constant time. The look-up in the map need not take constant
// time, because an attacker cannot choose the digest of a guess.
func shelf(d cpar.Digest) uint64 { return binary.BigEndian.Uint64(d[:]) }

func (r *Registry) lookup(d cpar.Digest) (p Principal, found bool) {
	for _, g := range r.grants[shelf(d)] {
		if subtle.ConstantTimeCompare(g.digest[:], d[:]) == 1 && (g.until.IsZero() || r.now().Before(g.until)) {
			p, found = g.principal, true
		}
	}
	return p, found
}

// refresh reloads a changed file. Unless `now` is set, it checks at most once
// per `recheck`. The caller holds mu.
func (r *Registry) refresh(now bool) {
	t := r.now()
	if !now && t.Sub(r.looked) < recheck && !t.Before(r.looked) {
		return
	}
	info, err := os.Lstat(path(r.data))
	same := err == nil && r.read != nil && os.SameFile(info, r.read) && info.Size() == r.read.Size() && info.ModTime().Equal(r.read.ModTime())
	missing := errors.Is(err, fs.ErrNotExist) && r.read == nil
	if (same || missing) && r.damaged == nil {
		r.looked = t
		return
	}
	r.reload()
}

// reload reads the file. If it is damaged, all requests are refused, because the
// unreadable part may have revoked a token.
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
			r.log.Error("every request is refused: the registry of tenants cannot be read", "error", err)
		}
		return
	}
	r.read, r.tenants, r.grants = info, len(l.Tenants), map[uint64][]grant{}
	r.storage = map[string]int64{}
	for _, t := range l.Tenants {
		r.storage[t.ID] = t.Resolved().StorageBytes
		for _, k := range t.Tokens {
			scopes, _ := ParseScopes(k.Scopes)
			g := grant{k.SHA256, k.Until, Principal{Tenant: t.ID, Scopes: scopes, Limits: t.Resolved()}}
			r.grants[shelf(k.SHA256)] = append(r.grants[shelf(k.SHA256)], g)
		}
	}
	r.log.Info("the registry of tenants was read", "tenants", r.tenants)
}

// Storage returns a tenant's storage limit in bytes, where 0 means unlimited. A
// removed tenant gets 1, which is too little to store anything.
func (r *Registry) Storage(tenant string) int64 {
	if tenant == "" {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(true) // uploads are rare enough to check the file
	if limit, ok := r.storage[tenant]; ok {
		return limit
	}
	return 1
}

type Stats struct {
	Tenants int
	// Refused counts requests without a known token.
	Refused int64
	// Limited counts refused requests that also exceeded a limit on wrong
	// tokens.
	Limited int64
}

func (r *Registry) Stats() Stats {
	r.mu.Lock()
	n := r.tenants
	r.mu.Unlock()
	r.guesses.mu.Lock()
	defer r.guesses.mu.Unlock()
	return Stats{n, r.guesses.refused, r.guesses.limited}
}

// ClientNetwork returns the network for which guesses and connections are
// counted. For IPv4 this is a single address. For IPv6 it is a network with a
// prefix of 64 bits, which commonly belongs to one customer. `remote` has the
// form host:port.
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
