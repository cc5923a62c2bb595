package album

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cpar"
)

const (
	logFolder = "log/"
	// snapshotEvery is the distance between entries that contain a state.
	snapshotEvery = 256
	// keptEntries is the number of entries that trim keeps before the newest
	// entry with a state.
	keptEntries = 4 * snapshotEvery
	// freeEntries is the number of entries that the quota does not count, besides
	// one per blob. This allowance covers all entries and states that trim keeps.
	freeEntries = 2 * keptEntries
	// keptFor is the minimum age of the entries that trim removes.
	keptFor = 48 * time.Hour
	// trusted is the maximum age of the last check for a next entry. Afterwards, a
	// process reloads the log from its newest state, because the next entry may have
	// been written and removed meanwhile.
	trusted = 30 * time.Minute
	// maxEntry is the maximum size of an entry, which may contain a state.
	maxEntry = 128 << 20
	// races is the number of attempts to commit while other processes commit.
	races = 50
)

// An entry of the log is stored as one object. Every snapshotEvery-th entry also
// contains the state before its event.
type entry struct {
	Version int    `json:"version"`
	State   *state `json:"state,omitempty"`
	Event   *event `json:"event"`
	// Writer differs between processes. Otherwise two processes could write equal
	// entries at once, and both would take the entry for their own.
	Writer string `json:"writer,omitempty"`
}

const entryVersion = 1

func entryName(seq uint64) string { return fmt.Sprintf("%s%020d", logFolder, seq) }

// encode returns a line with the entry and a line with its digest, which detects
// damage. It encodes blob by blob, because json.Marshal copies a state several
// times.
func (e *entry) encode() ([]byte, error) {
	var b bytes.Buffer
	b.Grow(e.size())
	brief, event := *e, *e.Event
	brief.State, brief.Event, event.Restore = e.State.withoutAlbums(), &event, e.Event.Restore.withoutAlbums()
	text, err := json.Marshal(brief)
	for _, st := range []*state{e.State, e.Event.Restore} {
		if st != nil && err == nil {
			var before []byte
			before, text, _ = bytes.Cut(text, []byte(`"albums":null`))
			b.Write(before)
			err = st.encodeAlbums(&b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("writing the log: %w", err)
	}
	b.Write(text)
	return append(b.Bytes(), signature(b.Bytes())...), nil
}

// size returns an upper bound of the bytes of e's encoded states, with room for the
// other fields of most entries.
func (e *entry) size() int { return 1024 + e.State.size() + e.Event.Restore.size() }

// signature returns the end of the text's line and a line with its SHA-256 digest.
func signature(text []byte) string {
	return fmt.Sprintf("\n%x\n", sha256.Sum256(text))
}

// skipped discards a JSON value.
type skipped struct{}

func (skipped) UnmarshalJSON([]byte) error { return nil }

// decodeEntry decodes an entry, with its state only if `whole` is set, because a
// state takes much memory.
func decodeEntry(b []byte, whole bool) (*entry, error) {
	text, _, _ := bytes.Cut(b, []byte("\n"))
	if string(b[len(text):]) != signature(text) {
		return nil, fmt.Errorf("%w: %w: an entry of the log has other bytes than were written", cpar.ErrCorrupt, ErrDamaged)
	}
	e := new(entry)
	into := any(e)
	if !whole {
		into = &struct {
			*entry
			State skipped `json:"state"` // hides entry's field
		}{entry: e}
	}
	if err := json.Unmarshal(text, into); err != nil || e.Event == nil {
		return nil, fmt.Errorf("%w: %w: an entry of the log cannot be read", cpar.ErrCorrupt, ErrDamaged)
	}
	if e.Version != entryVersion {
		return nil, fmt.Errorf("%w: an entry of version %d; this program reads %d", cpar.ErrVersion, e.Version, entryVersion)
	}
	for _, st := range []*state{e.State, e.Event.Restore} {
		if st != nil && !st.count() {
			return nil, fmt.Errorf("%w: %w: a version in the log was never live", cpar.ErrCorrupt, ErrDamaged)
		}
	}
	return e, nil
}

// A tenantLog is a tenant's log and the state after the last entry read.
type tenantLog struct {
	*Store
	tenant string

	turn sync.Mutex // held while reading or writing the log, locked before view

	view    sync.RWMutex // guards state and checked
	state   *state       // nil until loaded
	checked time.Time    // time of the last check for a next entry

	used     time.Time    // time of the last use, guarded by Store.mu
	reserved atomic.Int64 // bytes of the quota reserved for running uploads of this process
	counted  atomic.Bool  // whether state.Indexes has been compared with the storage
	memory   atomic.Int64 // estimated bytes of the state in memory
	recounts recounting
}

func (s *Store) log(tenant string) *tenantLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[tenant]
	if l == nil {
		l = &tenantLog{Store: s, tenant: tenant, recounts: recounting{turn: make(chan struct{}, 1)}}
		s.logs[tenant] = l
	}
	l.used = time.Now()
	return l
}

// read calls f with the current state, which f must not keep or change. Because
// read holds a lock, f must not call the store.
func (s *Store) read(ctx context.Context, tenant string, f func(*state) error) error {
	l := s.log(tenant)
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.refresh(ctx); err != nil {
		return err
	}
	return f(l.state)
}

// commit appends the event that function prepare returns for the current state, if
// any. If another process was faster, commit reads its entry and calls prepare again.
func (s *Store) commit(ctx context.Context, tenant string, prepare func(*state) (*event, error)) error {
	l := s.log(tenant)
	l.turn.Lock()
	defer l.turn.Unlock()
	for range races {
		if err := l.refresh(ctx); err != nil {
			return err
		}
		e, err := prepare(l.state)
		if e == nil || err != nil {
			return err
		}
		e.At = l.state.later(l.now())
		next := &entry{Version: entryVersion, Event: e, Writer: s.writer}
		if (l.state.seq+1)%snapshotEvery == 0 {
			next.State = l.state
		}
		err = l.write(ctx, l.state.seq+1, next)
		if errors.Is(err, ErrTaken) {
			continue
		}
		if err == nil && l.age() > trusted { // the machine was suspended
			err = fmt.Errorf("writing the log: %w: %w", cpar.ErrStorage, ErrBusy)
			l.drop()
		}
		if err != nil {
			return err
		}
		// Apply a copy, so that the state shares no memory with e.
		next.State = nil
		var b []byte
		if b, err = next.encode(); err == nil {
			next, err = decodeEntry(b, false)
		}
		if err == nil {
			next.Event.bytes = e.bytes
			l.apply(next.Event)
		}
		return err
	}
	return fmt.Errorf("%w: %w", cpar.ErrStorage, ErrBusy)
}

func (l *tenantLog) write(ctx context.Context, seq uint64, e *entry) error {
	release, err := l.reserve(ctx, e.size())
	if err != nil {
		return err
	}
	defer release()
	b, err := e.encode()
	if err != nil {
		return err
	}
	e.Event.bytes = len(b)
	if err := l.objects.PutNew(ctx, l.tenant, entryName(seq), b); err != nil {
		return fmt.Errorf("writing the log: %w", err)
	}
	return nil
}

// age returns the time since the last check for a next entry. It takes the longer
// time by two clocks, because the monotonic clock stops while the machine is
// suspended, and the wall clock may be set back.
func (l *tenantLog) age() time.Duration {
	now := l.now()
	return max(now.Sub(l.checked), now.Round(0).Sub(l.checked))
}

func (l *tenantLog) apply(e *event) {
	l.view.Lock()
	defer l.view.Unlock()
	l.state.apply(e)
	l.state.seq++
	l.checked = l.now()
	if l.memory.Add(eventBytes); e.Restore != nil || !e.Undelete.IsZero() || l.state.seq%snapshotEvery == 0 {
		l.memory.Store(int64(l.state.size()))
	}
}

// refresh applies other processes' new entries to the state. The caller holds
// l.turn.
func (l *tenantLog) refresh(ctx context.Context) error {
	if l.state == nil || l.age() > trusted {
		return l.load(ctx)
	}
	for {
		size := 0
		if (l.state.seq+1)%snapshotEvery == 0 {
			size = l.state.size()
		}
		e, err := l.entry(ctx, l.state.seq+1, size, false)
		if errors.Is(err, ErrNotFound) {
			l.view.Lock()
			defer l.view.Unlock()
			l.checked = l.now()
			return nil
		}
		if err != nil {
			return err
		}
		l.apply(e.Event)
	}
}

// entry reads an entry, with its state only if `whole` is set. It reserves memory
// for the expected size.
func (l *tenantLog) entry(ctx context.Context, seq uint64, size int, whole bool) (*entry, error) {
	r, err := l.objects.Get(ctx, l.tenant, entryName(seq), 0, -1)
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	defer r.Close()
	release, err := l.reserve(ctx, size)
	if err != nil {
		return nil, err
	}
	defer release()
	var b bytes.Buffer
	b.Grow(size + bytes.MinRead) // so that ReadFrom need not double the buffer
	if _, err := b.ReadFrom(io.LimitReader(r, maxEntry)); err != nil {
		return nil, fmt.Errorf("reading the log: %w: %w", cpar.ErrStorage, err)
	}
	e, err := decodeEntry(b.Bytes(), whole)
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", seq, err)
	}
	e.Event.bytes = b.Len()
	return e, nil
}

// entries lists the objects of the log and returns the highest number.
func (l *tenantLog) entries(ctx context.Context) (list []Object, last uint64, err error) {
	for o, err := range l.objects.List(ctx, l.tenant, logFolder) {
		if err != nil {
			return nil, 0, fmt.Errorf("listing the log: %w", err)
		}
		if n, ok := entrySeq(o.Name); ok {
			list, last = append(list, o), max(last, n)
		}
	}
	return list, last, nil
}

func entrySeq(name string) (uint64, bool) {
	digits := strings.TrimPrefix(name, logFolder)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && len(digits) == 20
}

// load replays the log from its newest state. The caller holds l.turn.
func (l *tenantLog) load(ctx context.Context) (err error) {
	l.drop()
	defer func() {
		if err != nil {
			l.drop()
		}
	}()
	list, last, err := l.entries(ctx)
	if err != nil {
		return err
	}
	first := max(last/snapshotEvery*snapshotEvery, 1)
	if len(list) > 0 { // the log of a backup begins with a Restore event
		lowest, _ := entrySeq(list[0].Name)
		first = max(first, lowest)
	}
	found, sizes, sum := make([]*entry, last+1-first), make([]int, last+1-first), int64(0)
	for _, o := range list {
		if n, _ := entrySeq(o.Name); n >= first {
			sizes[n-first] = int(min(o.Bytes, maxEntry))
			sum += int64(sizes[n-first])
		}
	}
	// A state takes at most 1.5 times as much memory as in the log.
	if err := l.admit(ctx, sum+sum/2+1); err != nil {
		return err
	}
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range found {
		group.Go(func() (err error) {
			found[i], err = l.entry(each, first+uint64(i), sizes[i], true)
			if errors.Is(err, ErrNotFound) {
				err = fmt.Errorf("%w: %w: entry %d of the log is missing", cpar.ErrCorrupt, ErrDamaged, first+uint64(i))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	st := newState()
	for i, e := range found {
		if i == 0 && first > 1 && e.Event.Restore == nil {
			if st = e.State; st == nil {
				return fmt.Errorf("%w: %w: entry %d of the log lacks the state", cpar.ErrCorrupt, ErrDamaged, first)
			}
		}
		st.apply(e.Event)
	}
	l.view.Lock()
	defer l.view.Unlock()
	st.seq = last
	l.state, l.checked = st, l.now()
	l.memory.Store(int64(st.size()) + 1)
	return nil
}
