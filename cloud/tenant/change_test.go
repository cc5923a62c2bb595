package tenant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/internal/bearer"
)

func TestConcurrentEditorsKeepAllChanges(t *testing.T) {
	data := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := (&Editor{Data: data}).Add(t.Context(), fmt.Sprintf("tenant-%d", i), "a", Push, Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := List(data); err != nil || len(all) != 8 {
		t.Errorf("%d tenants, %v", len(all), err)
	}
}

func TestRefusedChangesKeepRegistry(t *testing.T) {
	data := t.TempDir()
	add(t, data, "anna", "a", Annotate)
	before, err := os.ReadFile(path(data))
	if err != nil {
		t.Fatal(err)
	}
	full := fmt.Errorf("%w: full", cpar.ErrStorage)
	broken := &Editor{Data: data, Keep: func(bearer.Token) error { return full }}
	dry := &Editor{Data: data, DryRun: true, Keep: func(bearer.Token) error { t.Error("a dry run keeps a token"); return nil }}
	plain := &Editor{Data: data}
	ctx := t.Context()
	for name, c := range map[string]struct {
		try  func() error
		want error
	}{
		"add":              {func() error { _, err := broken.Add(ctx, "berta", "b", Push, Limits{}); return err }, cpar.ErrStorage},
		"rotate":           {func() error { _, err := broken.Rotate(ctx, "anna", "", 0); return err }, cpar.ErrStorage},
		"dry add":          {func() error { _, err := dry.Add(ctx, "berta", "b", Push, Limits{}); return err }, nil},
		"dry rotate":       {func() error { _, err := dry.Rotate(ctx, "anna", "a", time.Hour); return err }, nil},
		"dry limit":        {func() error { _, err := dry.SetLimits(ctx, "anna", Limits{Burst: 1}); return err }, nil},
		"dry remove":       {func() error { _, err := dry.Remove(ctx, "anna", ""); return err }, nil},
		"one label twice":  {func() error { _, err := plain.Add(ctx, "anna", "a", Push, Limits{}); return err }, cpar.ErrInput},
		"limits again":     {func() error { _, err := plain.Add(ctx, "anna", "b", Push, Limits{Burst: 1}); return err }, cpar.ErrInput},
		"no such label":    {func() error { _, err := plain.Rotate(ctx, "anna", "b", 0); return err }, cpar.ErrInput},
		"no such tenant":   {func() error { _, err := plain.Remove(ctx, "berta", ""); return err }, cpar.ErrInput},
		"a path as a name": {func() error { _, err := plain.Add(ctx, "../x", "b", Push, Limits{}); return err }, cpar.ErrInput},
		"a bad limit":      {func() error { _, err := plain.SetLimits(ctx, "anna", Limits{Concurrent: -7}); return err }, cpar.ErrInput},
	} {
		if err := c.try(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path(data)); err != nil || string(after) != string(before) {
			t.Errorf("%s: the registry has changed, %v", name, err)
		}
	}
}

// Tokens in their grace period end too, and other labels' tokens stay.
func TestRotateEndsAllTokensOfLabel(t *testing.T) {
	data, e := t.TempDir(), new(Editor)
	e.Data = data
	first, other := add(t, data, "anna", "a", Annotate|Push), add(t, data, "anna", "b", Delete)
	second, err := e.Rotate(t.Context(), "anna", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Rotate(t.Context(), "anna", "", 0); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("which of two: %v", err)
	}
	third, err := e.Rotate(t.Context(), "anna", "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := open(t, data)
	for _, c := range []struct {
		token Issued
		want  bool
	}{{first, false}, {second, false}, {third, true}, {other, true}} {
		if p, err := r.Authenticate(with(c.token.Token)); (err == nil) != c.want {
			t.Errorf("%s: %+v, %v", c.token.Label, p, err)
		}
	}
	if p, _ := r.Authenticate(with(third.Token)); p.Scopes != Annotate|Push {
		t.Errorf("the new token may %v", p.Scopes)
	}
}

func TestDiscard(t *testing.T) {
	data := t.TempDir()
	made := add(t, data, "anna", "a", Push)
	file := filepath.Join(data, Folder, made.Tenant.ID, "indexes", "x", "segments", "y")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, make([]byte, 10), 0o600)); err != nil {
		t.Fatal(err)
	}
	if n, size, err := DataSize(data, made.Tenant.ID); n != 1 || size != 10 || err != nil {
		t.Errorf("%d files, %d bytes, %v", n, size, err)
	}
	for _, id := range []string{"", "..", "../../etc", "0123"} {
		if err := Discard(data, id); err == nil {
			t.Errorf("%q is discarded", id)
		}
	}
	for range 2 {
		if err := Discard(data, made.Tenant.ID); err != nil {
			t.Error(err)
		}
	}
	if n, _, err := DataSize(data, made.Tenant.ID); n != 0 || err != nil {
		t.Errorf("%d files are left, %v", n, err)
	}
	if left, err := os.ReadDir(filepath.Join(data, "deleted")); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
