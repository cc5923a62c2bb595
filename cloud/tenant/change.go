package tenant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

// lockName is a file that is locked during changes of the registry.
const lockName = "tenants.lock"

var FileNames = []string{FileName, lockName, Folder}

// An Issued contains a new token, which cannot be shown again.
type Issued struct {
	Tenant Tenant
	Label  string
	Token  bearer.Token
	// New means that the tenant was created with the token.
	New bool
	// Until is the expiry of the replaced token. It is zero if no token was
	// replaced or the replaced token is already invalid.
	Until time.Time
}

// List returns the tenants of a data folder by name.
func List(data string) ([]Tenant, error) {
	f, _, err := read(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f.Tenants, nil
}

type Editor struct {
	Data string
	// DryRun checks a change without making it. Add and Rotate then return an
	// Issued without a token.
	DryRun bool
	// Keep, if set, is called with a new token before the registry changes. If
	// it fails, the registry does not change.
	Keep func(bearer.Token) error
}

// Add creates a token, and the tenant if necessary. It accepts limits only for
// a new tenant.
func (e *Editor) Add(ctx context.Context, name, label string, scopes Scopes, limits Limits) (Issued, error) {
	var made Issued
	err := e.change(ctx, func(f *file) error {
		if err := errors.Join(CheckName(name), CheckName(label), limits.check()); err != nil {
			return err
		}
		t := f.find(name)
		if made.New = t == nil; made.New {
			f.Tenants = append(f.Tenants, Tenant{ID: newID(), Name: name, Limits: limits, Created: now(), Tokens: []Token{}})
			t = &f.Tenants[len(f.Tenants)-1]
		} else if limits != (Limits{}) {
			return hint.Add(fmt.Errorf("%w: tenant %s exists and has its own limits", cpar.ErrInput, name), "change them with: cpard tenant limit %s", name)
		}
		if slices.ContainsFunc(t.Tokens, func(k Token) bool { return k.Label == label && k.Until.IsZero() }) {
			return hint.Add(fmt.Errorf("%w: tenant %s already has a token %s", cpar.ErrInput, name, label), "name another with --label, or replace it: cpard tenant rotate %s --label %s", name, label)
		}
		return e.issue(&made, t, label, scopes.Names())
	})
	return made, err
}

// Rotate replaces a token. The old token expires after the duration `grace`.
// The label may be "" if the tenant has only one token.
func (e *Editor) Rotate(ctx context.Context, name, label string, grace time.Duration) (Issued, error) {
	var made Issued
	err := e.change(ctx, func(f *file) error {
		t, err := f.existing(name)
		if err != nil {
			return err
		}
		old, err := t.token(label)
		if err != nil {
			return err
		}
		scopes, label := old.Scopes, old.Label
		if grace > 0 {
			old.Until = now().Add(grace)
			made.Until = old.Until
		} else {
			t.Tokens = slices.DeleteFunc(t.Tokens, func(k Token) bool { return k.Label == label })
		}
		return e.issue(&made, t, label, scopes)
	})
	return made, err
}

// SetLimits changes limits of a tenant. A zero limit stays unchanged.
func (e *Editor) SetLimits(ctx context.Context, name string, limits Limits) (Tenant, error) {
	var changed Tenant
	err := e.change(ctx, func(f *file) error {
		t, err := f.existing(name)
		if err != nil {
			return err
		}
		t.StorageBytes = cmp.Or(limits.StorageBytes, t.StorageBytes)
		t.RequestsPerSecond = cmp.Or(limits.RequestsPerSecond, t.RequestsPerSecond)
		t.Burst = cmp.Or(limits.Burst, t.Burst)
		t.Concurrent = cmp.Or(limits.Concurrent, t.Concurrent)
		changed = *t
		return t.Limits.check()
	})
	return changed, err
}

// Remove removes a tenant but not its data. If `label` is not "", it removes
// only the token with this label.
func (e *Editor) Remove(ctx context.Context, name, label string) (Tenant, error) {
	var removed Tenant
	err := e.change(ctx, func(f *file) error {
		t, err := f.existing(name)
		if err != nil {
			return err
		}
		removed = *t
		if label == "" {
			f.Tenants = slices.DeleteFunc(f.Tenants, func(t Tenant) bool { return t.Name == name })
			return nil
		}
		if _, err := t.token(label); err != nil {
			return err
		}
		removed.Tokens = slices.DeleteFunc(slices.Clone(t.Tokens), func(k Token) bool { return k.Label == label })
		t.Tokens = removed.Tokens
		return nil
	})
	return removed, err
}

func (e *Editor) issue(made *Issued, t *Tenant, label string, scopes []string) error {
	token := bearer.New()
	t.Tokens = append(t.Tokens, Token{Label: label, Scopes: scopes, SHA256: token.Digest(), Created: now()})
	made.Tenant, made.Label = *t, label
	if e.DryRun {
		return nil
	}
	made.Token = token
	if e.Keep == nil {
		return nil
	}
	return e.Keep(token)
}

func (e *Editor) change(ctx context.Context, work func(*file) error) error {
	if !e.DryRun {
		if err := durable.MkdirAll(durable.OS, e.Data, 0o700); err != nil {
			return fmt.Errorf("changing the registry: %w", err)
		}
		lock := flock.New(filepath.Join(e.Data, lockName), flock.SetPermissions(fileMode))
		if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("locking the registry: %w: %w", cpar.ErrStorage, err)
		}
		defer lock.Close()
	}
	f, _, err := read(e.Data)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = &file{Format: fileMagic, Version: fileVersion}, nil
	}
	if err != nil {
		return err
	}
	for i := range f.Tenants {
		t := &f.Tenants[i]
		t.Tokens = slices.DeleteFunc(t.Tokens, func(k Token) bool { return !k.Until.IsZero() && !now().Before(k.Until) })
	}
	if err := work(f); err != nil || e.DryRun {
		return err
	}
	return f.write(e.Data)
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func (f *file) find(name string) *Tenant {
	if i := slices.IndexFunc(f.Tenants, func(t Tenant) bool { return t.Name == name }); i >= 0 {
		return &f.Tenants[i]
	}
	return nil
}

func (f *file) existing(name string) (*Tenant, error) {
	if t := f.find(name); t != nil {
		return t, nil
	}
	return nil, hint.Add(fmt.Errorf("%w: there is no tenant %q", cpar.ErrInput, name), "cpard tenant list shows all tenants")
}

// token returns the token with this label. If `label` is "", it returns the
// tenant's only token. It ignores rotated tokens.
func (t *Tenant) token(label string) (*Token, error) {
	var labels []string
	for i, k := range t.Tokens {
		if k.Label == label && k.Until.IsZero() {
			return &t.Tokens[i], nil
		}
		if k.Until.IsZero() {
			labels = append(labels, k.Label)
		}
	}
	if label == "" && len(labels) == 1 {
		return t.token(labels[0])
	}
	if label == "" {
		return nil, hint.Add(fmt.Errorf("%w: tenant %s has %d tokens", cpar.ErrInput, t.Name, len(labels)), "name one with --label: %s", strings.Join(labels, ", "))
	}
	return nil, hint.Add(fmt.Errorf("%w: tenant %s has no token %q", cpar.ErrInput, t.Name, label), "its tokens: %s", strings.Join(labels, ", "))
}

// DataSize counts a tenant's files and their bytes in a data folder.
func DataSize(data, id string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(filepath.Join(data, Folder, id), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("reading the data of the tenant: %w: %w", cpar.ErrStorage, err)
	}
	return files, bytes, nil
}

// Discard removes the data of a removed tenant, even while a server uses the
// folder.
func Discard(data, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	from, trash := filepath.Join(data, Folder, id), filepath.Join(data, "deleted")
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.MkdirAll(durable.OS, trash, 0o700); err != nil {
		return fmt.Errorf("removing the data of the tenant: %w", err)
	}
	to := filepath.Join(trash, fmt.Sprintf("%s-%d", id, time.Now().UnixNano()))
	err := os.Rename(from, to)
	if err == nil {
		err = errors.Join(durable.OS.SyncDir(trash), durable.OS.SyncDir(filepath.Dir(from)), os.RemoveAll(to))
	}
	if err != nil {
		return fmt.Errorf("removing the data of the tenant: %w", durable.StorageError("removing", from, 0, err))
	}
	return nil
}
