package user

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

func TestUpdatesRefuse(t *testing.T) {
	ctx := context.Background()
	key := testKey()
	one := madeImages(1, 1)
	_, capia := build(t, key, one, small(cpar.SchemeCAPIA))
	_, sealed := build(t, key, one, small(cpar.SchemeSealed))
	many := madeImages(1, 2)
	for i := range 32 {
		many[0].Keywords = append(many[0].Keywords, fmt.Sprint(i))
	}
	absent := filepath.Join(t.TempDir(), "absent")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		run  func() error
		want error
	}{
		"add to capia":       {func() error { _, err := Add(ctx, key, capia, one, nil); return err }, cpar.ErrInput},
		"compact capia":      {func() error { _, err := Compact(ctx, key, capia, UpdateOptions{}); return err }, cpar.ErrInput},
		"add nothing":        {func() error { _, err := Add(ctx, key, sealed, nil, nil); return err }, cpar.ErrInput},
		"remove nothing":     {func() error { _, err := Remove(ctx, key, sealed, nil, UpdateOptions{}); return err }, cpar.ErrInput},
		"remove all":         {func() error { _, err := Remove(ctx, key, sealed, contentsOfAll(one), UpdateOptions{}); return err }, cpar.ErrInput},
		"too many keywords":  {func() error { _, err := Add(ctx, key, sealed, many, nil); return err }, cpar.ErrInput},
		"no index":           {func() error { _, err := Add(ctx, key, absent, one, nil); return err }, cpar.ErrInput},
		"another key":        {func() error { _, err := Add(ctx, testKey(), sealed, one, nil); return err }, cpar.ErrKey},
		"stopped":            {func() error { _, err := Add(stopped, key, sealed, one, nil); return err }, context.Canceled},
		"compacting stopped": {func() error { _, err := Compact(stopped, key, sealed, UpdateOptions{}); return err }, context.Canceled},
	} {
		if err := c.run(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := os.Stat(absent); err == nil {
		t.Error("a folder was made")
	}
	if x := held(t, key, sealed); x.Generation() != 1 || x.manifest.Records != 1 {
		t.Errorf("a refused update left generation %d with %d records", x.Generation(), x.manifest.Records)
	}
	// Compact rejects a damaged group.
	m, err := indexdir.ReadManifest(sealed)
	if err != nil {
		t.Fatal(err)
	}
	path := indexdir.SegmentPath(sealed, m.Segments[0].Digest)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(ctx, key, sealed, UpdateOptions{}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a damaged group: %v", err)
	}
}

// TestUpdatesEndBeforeNoncesRepeat checks that a key that encrypted 2³² pages
// allows only Compact.
func TestUpdatesEndBeforeNoncesRepeat(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(3, 1), small(scheme))
		// Two messages per generation reach the limit.
		_, err := update(key, folder, "ageing", UpdateOptions{}, func(u *updater) error {
			old := func(l *ledger) error { l.generation = aead.MaxMessages / 2; return nil }
			return u.write(ctx, u.identities, old, func(x *index.Index) (*rows.Builder, error) {
				return u.rows.Next(ctx, x, rows.Change{Add: rows.New(int(u.old.Dim)), Keywords: u.keywords})
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]func() (*Update, error){
			"Add": func() (*Update, error) { return Add(ctx, key, folder, madeImages(1, 5), nil) },
			"Remove": func() (*Update, error) {
				return Remove(ctx, key, folder, contentsOfAll(madeImages(1, 1)), UpdateOptions{})
			},
		} {
			if _, err := f(); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "compact") {
				t.Errorf("%v: %s: %v; %s", scheme, name, err, hint.Of(err))
			}
		}
		u, err := Compact(ctx, key, folder, UpdateOptions{})
		if err != nil || u.Generation != aead.MaxMessages/2+1 {
			t.Fatalf("%v: compacted: %+v, %v", scheme, u, err)
		}
		if u, err = Add(ctx, key, folder, madeImages(1, 5), nil); err != nil || u.Records != 4 {
			t.Errorf("%v: after compacting: %+v, %v", scheme, u, err)
		}
	}
}
