package library

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/localstore"
)

// A Library is what a device remembers of photos annotated with a key. It may be used by
// several goroutines, and its folder by several processes.
type Library struct {
	journal *localstore.Journal[record]
	lock    string // path of the lock file
	keep    int64  // upper bound of the journal in bytes

	mu   sync.Mutex
	mem  *memory
	read int64 // bytes of the log that mem knows
}

// Exists reports whether a device remembers anything, with whatever key.
func Exists(d *device.Device) bool {
	return d.HasJournals()
}

// Open opens what a device remembers.
func Open(key *user.Key, d *device.Device) (*Library, error) {
	store, dir, err := d.Journals(key)
	if err != nil {
		return nil, err
	}
	journal, err := localstore.OpenJournal[record](store, "library")
	if err != nil {
		return nil, err
	}
	return &Library{journal: journal, lock: filepath.Join(dir, "lock"), keep: keepBytes}, nil
}

// refresh reads the log, unless all of it is in memory.
func (l *Library) refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, err := l.journal.Size()
	if err != nil || l.mem != nil && size == l.read {
		return err
	}
	m := newMemory()
	if _, err := l.journal.Read(m.take); err != nil {
		return err
	}
	l.mem, l.read = m, size
	return nil
}

// remember writes records, synced, and takes them over.
func (l *Library) remember(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, err := l.journal.Size()
	var grows int64
	if err == nil {
		grows, err = l.journal.Append(records...)
	}
	if err != nil {
		return fmt.Errorf("remembering what was done: %w", err)
	}
	for i := range records {
		l.mem.take(&records[i])
	}
	after, err := l.journal.Size()
	if err != nil || before != l.read || after != before+grows {
		after = -1 // another process has written too, which refresh reads
	}
	l.read = after
	return err
}

// working marks this process as one that changes photos, reads the log and finishes what a
// killed process left. Several may work at once; forgetting waits for none.
func (l *Library) lockShared() (release func(), err error) {
	lock := flock.New(l.lock, flock.SetPermissions(0o600))
	alone, err := lock.TryLock()
	if err == nil && alone {
		if err = l.refresh(); err == nil {
			err = l.settle()
		}
		if err == nil {
			err = l.bound()
		}
		if err == nil {
			err = lock.Unlock()
		}
	}
	if err == nil {
		err = lock.RLock()
	}
	if err == nil {
		err = l.refresh() // from here on nobody settles or forgets
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("opening what was done to photos: %w", storage(err))
	}
	return func() { lock.Close() }, nil
}

// alone is working for what nobody may do beside others.
func (l *Library) lockExclusive() (release func(), err error) {
	lock := flock.New(l.lock, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the journal: %w", storage(err))
	}
	if !ok {
		return nil, hint.Add(fmt.Errorf("locking the journal: %w: another cpar is annotating", cpar.ErrStorage), "wait until it has ended")
	}
	return func() { lock.Close() }, l.refresh()
}

// storage makes of an error of the system one of ours.
func storage(err error) error {
	if errors.Is(err, cpar.ErrStorage) || errors.Is(err, cpar.ErrCorrupt) || errors.Is(err, cpar.ErrInput) {
		return err
	}
	return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
}
