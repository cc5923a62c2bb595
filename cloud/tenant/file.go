package tenant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

// FileName is the registry's file.
const FileName = "tenants.json"

// The registry's file, in the data folder (docs/FORMAT.md).
const (
	fileMode    = 0o600
	fileMagic   = "cpard tenants"
	fileVersion = 1
	// maxFileBytes and maxTokens bound what a file may have a daemon hold.
	maxFileBytes = 16 << 20
	maxTokens    = 20_000
)

// A file is the registry as its file has it.
type file struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Tenants []Tenant `json:"tenants"`
}

// A Tenant is one as the registry has it.
type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Limits
	Created time.Time `json:"created"`
	Tokens  []Token   `json:"tokens"`
}

// A Token is what is kept of one: nothing that it could be made from.
type Token struct {
	Label   string      `json:"label"`
	Scopes  []string    `json:"scopes"`
	SHA256  cpar.Digest `json:"sha256"`
	Created time.Time   `json:"created"`
	// Until is when it ends, having been rotated; zero for one that does not.
	Until time.Time `json:"until,omitzero"`
}

// live reports whether the token counts at an instant.
func (t Token) live(now time.Time) bool { return t.Until.IsZero() || now.Before(t.Until) }

// path is where the registry of a data folder lies.
func path(data string) string { return filepath.Join(data, FileName) }

// read reads a registry's file. There need not be one (fs.ErrNotExist). info is that of the
// file which was read.
func read(data string) (l *file, info fs.FileInfo, err error) {
	fail := func(err error) (*file, fs.FileInfo, error) {
		return nil, nil, fmt.Errorf("reading %s: %w", path(data), err)
	}
	// Opening a named pipe would wait for its writer.
	if info, err := os.Lstat(path(data)); err == nil && !info.Mode().IsRegular() {
		return fail(hint.Add(fmt.Errorf("%w: it is no regular file", cpar.ErrCorrupt), restoring))
	}
	f, err := os.Open(path(data))
	if errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err != nil {
		return fail(fmt.Errorf("%w: %w", cpar.ErrStorage, err))
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return fail(fmt.Errorf("%w: %w", cpar.ErrStorage, err))
	}
	// Whoever can write it can let anybody in. Windows has no such permissions.
	if info.Mode().Perm()&0o022 != 0 && os.PathSeparator == '/' {
		return fail(hint.Add(fmt.Errorf("%w: others may write it", cpar.ErrInput), "chmod 600 it, after a look at what it says"))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return fail(fmt.Errorf("%w: %w", cpar.ErrStorage, err))
	}
	if l, err = decode(b); err != nil {
		return fail(err)
	}
	return l, info, nil
}

const restoring = "put it back from a backup (cpard backup), or move it away and add the tenants again: their data stays, under new ids"

// Check refuses the bytes of a registry that no daemon would take. Errors wrap
// cpar.ErrCorrupt or cpar.ErrVersion.
func Check(b []byte) error {
	_, err := decode(b)
	return err
}

// decode reads a registry and checks all of it. Errors wrap cpar.ErrCorrupt or cpar.ErrVersion.
func decode(b []byte) (*file, error) {
	wrong := func(format string, args ...any) (*file, error) {
		return nil, hint.Add(fmt.Errorf("%w: "+format, append([]any{cpar.ErrCorrupt}, args...)...), restoring)
	}
	if len(b) > maxFileBytes {
		return wrong("it has more than %d bytes", maxFileBytes)
	}
	// The version comes first: a later one may have other members.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil || head.Format != fileMagic {
		return wrong("it is no registry of cpard")
	}
	if head.Version != fileVersion {
		return nil, hint.Add(fmt.Errorf("%w: a registry of version %d; this program reads %d", cpar.ErrVersion, head.Version, fileVersion), "use the version of cpard that wrote it, or a later one")
	}
	l := new(file)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(l); err != nil {
		return wrong("%v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return wrong("something follows its end")
	}
	if err := l.check(); err != nil {
		return wrong("%v", err)
	}
	return l, nil
}

// check refuses what add, rotate and remove do not write.
func (l *file) check() error {
	ids, names, tokens := map[string]bool{}, map[string]bool{}, map[uint64]bool{}
	for _, t := range l.Tenants {
		if err := errors.Join(checkID(t.ID), CheckName(t.Name), t.Limits.check()); err != nil {
			return fmt.Errorf("tenant %q: %w", t.Name, err)
		}
		if ids[t.ID] || names[t.Name] {
			return fmt.Errorf("tenant %q is there twice, or its id is", t.Name)
		}
		ids[t.ID], names[t.Name] = true, true
		labels := map[string]bool{}
		for _, k := range t.Tokens {
			set, err := ParseScopes(k.Scopes)
			if err := errors.Join(err, CheckName(k.Label)); err != nil {
				return fmt.Errorf("tenant %q: token %q: %w", t.Name, k.Label, err)
			}
			if !slices.Equal(set.Names(), k.Scopes) {
				return fmt.Errorf("tenant %q: token %q: its scopes are out of order", t.Name, k.Label)
			}
			// Of one label there is one that counts; others are those that it took the place of.
			if k.Until.IsZero() && labels[k.Label] {
				return fmt.Errorf("tenant %q has two tokens %q", t.Name, k.Label)
			}
			labels[k.Label] = labels[k.Label] || k.Until.IsZero()
			if tokens[shelf(k.SHA256)] {
				return fmt.Errorf("tenant %q: token %q is there twice", t.Name, k.Label)
			}
			tokens[shelf(k.SHA256)] = true
		}
	}
	if len(tokens) > maxTokens {
		return fmt.Errorf("it has %d tokens; the limit is %d", len(tokens), maxTokens)
	}
	return nil
}

func (l *file) encode() ([]byte, error) {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the registry: %w", err)
	}
	return append(b, '\n'), nil
}

// write puts a registry in the place of the one that is there, whole.
func (l *file) write(data string) error {
	slices.SortFunc(l.Tenants, func(a, b Tenant) int { return strings.Compare(a.Name, b.Name) })
	b, err := l.encode()
	if err == nil {
		// What cannot be read again must not be written.
		_, err = decode(b)
	}
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path(data), b, fileMode); err != nil {
		return fmt.Errorf("writing the registry: %w", err)
	}
	return nil
}
