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

const FileName = "tenants.json"

// These constants belong to the format of the registry (docs/FORMAT.md).
const (
	fileMode    = 0o600
	fileMagic   = "cpard tenants"
	fileVersion = 1
	// maxFileBytes and maxTokens bound the memory of the server.
	maxFileBytes = 16 << 20
	maxTokens    = 20_000
)

type file struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Tenants []Tenant `json:"tenants"`
}

type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Limits
	Created time.Time `json:"created"`
	Tokens  []Token   `json:"tokens"`
}

// A Token is the stored form of a token. It contains only a digest, from which
// the token cannot be recovered.
type Token struct {
	Label   string      `json:"label"`
	Scopes  []string    `json:"scopes"`
	SHA256  cpar.Digest `json:"sha256"`
	Created time.Time   `json:"created"`
	// Until is the expiry of a rotated token, and zero for other tokens.
	Until time.Time `json:"until,omitzero"`
}

func path(data string) string { return filepath.Join(data, FileName) }

// read returns the registry and the attributes of its file. If the file is
// missing, the error wraps fs.ErrNotExist.
func read(data string) (l *file, info fs.FileInfo, err error) {
	fail := func(err error) (*file, fs.FileInfo, error) {
		return nil, nil, fmt.Errorf("reading %s: %w", path(data), err)
	}
	// Check the type first, because opening a named pipe would block.
	if info, err := os.Lstat(path(data)); err == nil && !info.Mode().IsRegular() {
		return fail(hint.Add(fmt.Errorf("%w: it is not a regular file", cpar.ErrCorrupt), restoring))
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
	// Refuse a file that other users may write, because they could add tokens.
	// Windows has no such permissions.
	if info.Mode().Perm()&0o022 != 0 && os.PathSeparator == '/' {
		return fail(hint.Add(fmt.Errorf("%w: others may write to it", cpar.ErrInput), "check its contents, then chmod 600 it"))
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

const restoring = "restore it from a backup (cpard backup), or move it away and add the tenants again: they get new ids, and the old data stays"

// Check returns an error for a registry that a server would refuse. Errors wrap
// cpar.ErrCorrupt or cpar.ErrVersion.
func Check(b []byte) error {
	_, err := decode(b)
	return err
}

func decode(b []byte) (*file, error) {
	wrong := func(format string, args ...any) (*file, error) {
		return nil, hint.Add(fmt.Errorf("%w: "+format, append([]any{cpar.ErrCorrupt}, args...)...), restoring)
	}
	if len(b) > maxFileBytes {
		return wrong("it has more than %d bytes", maxFileBytes)
	}
	// Check the version first, because later versions may have other members.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil || head.Format != fileMagic {
		return wrong("it is not a registry of cpard")
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

func (l *file) check() error {
	ids, names, tokens := map[string]bool{}, map[string]bool{}, map[uint64]bool{}
	for _, t := range l.Tenants {
		if err := errors.Join(checkID(t.ID), CheckName(t.Name), t.Limits.check()); err != nil {
			return fmt.Errorf("tenant %q: %w", t.Name, err)
		}
		if ids[t.ID] || names[t.Name] {
			return fmt.Errorf("tenant %q or its id occurs twice", t.Name)
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
			// Each label has at most one token that has not been rotated.
			if k.Until.IsZero() && labels[k.Label] {
				return fmt.Errorf("tenant %q has two tokens %q", t.Name, k.Label)
			}
			labels[k.Label] = labels[k.Label] || k.Until.IsZero()
			if tokens[shelf(k.SHA256)] {
				return fmt.Errorf("tenant %q: token %q occurs twice", t.Name, k.Label)
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

func (l *file) write(data string) error {
	slices.SortFunc(l.Tenants, func(a, b Tenant) int { return strings.Compare(a.Name, b.Name) })
	b, err := l.encode()
	if err == nil {
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
