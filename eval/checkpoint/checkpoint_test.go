package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type result struct{ X float64 }

func counter(x float64) (func(context.Context) (*result, error), *int) {
	n := new(int)
	return func(context.Context) (*result, error) { *n++; return &result{x}, nil }, n
}

func do(t *testing.T, r *Runner, inputs any, f func(context.Context) (*result, error)) (*result, Record) {
	t.Helper()
	got, record, err := Do(context.Background(), r, "one", inputs, f)
	if err != nil {
		t.Fatal(err)
	}
	return got, record
}

func TestDoMeasuresOnce(t *testing.T) {
	r := &Runner{Dir: t.TempDir(), Origin: Origin{Program: "a", Commit: "c", Machine: "m"}}
	f, n := counter(3)
	if _, record := do(t, r, 1, f); record.Reused {
		t.Error("reused a missing result")
	}
	got, record := do(t, r, 1, f)
	if *n != 1 || got.X != 3 || !record.Reused {
		t.Errorf("measured %d times, %v, %+v", *n, got, record)
	}
	do(t, r, 2, f)
	if *n != 2 {
		t.Error("other inputs, but not measured again")
	}
	for i, origin := range []Origin{{"b", "c", "m"}, {"b", "d", "m"}, {"b", "d", "n"}} {
		r.Origin = origin
		if _, record := do(t, r, 2, f); *n != 3+i || record.Origin != origin {
			t.Errorf("%+v: measured %d times, recorded %+v", origin, *n, record.Origin)
		}
	}
	r.Origin, r.AnyOrigin = Origin{Program: "e"}, true
	if _, record := do(t, r, 2, f); *n != 5 || record.Commit != "d" {
		t.Errorf("measured %d times although any program will do, recorded %+v", *n, record)
	}
}

func TestDoWithoutFolder(t *testing.T) {
	f, n := counter(1)
	for range 2 {
		do(t, &Runner{}, 1, f)
	}
	if *n != 2 {
		t.Errorf("measured %d times", *n)
	}
}

func TestDoDistrustsDamage(t *testing.T) {
	r := &Runner{Dir: t.TempDir()}
	path := filepath.Join(r.Dir, "state", "one.json")
	f, n := counter(1)
	do(t, r, 1, f)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, bad := range []string{"", string(whole[:len(whole)/2]), strings.Replace(string(whole), `"X"`, `"Y"`, 1), strings.Replace(string(whole), `"one"`, `"two"`, 1)} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		do(t, r, 1, f)
		if *n != i+2 {
			t.Fatalf("damage %d was accepted", i)
		}
	}
}

func TestDoLosesOneStep(t *testing.T) {
	r := &Runner{Dir: t.TempDir()}
	f, n := counter(1)
	do(t, r, 1, f)
	ctx, cancel := context.WithCancel(context.Background())
	_, _, err := Do(ctx, r, "two", 1, func(ctx context.Context) (*result, error) { cancel(); return nil, ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, _, err := Do(ctx, r, "three", 1, f); !errors.Is(err, context.Canceled) || *n != 1 {
		t.Errorf("begun after the end: %v", err)
	}
	files, _ := filepath.Glob(filepath.Join(r.Dir, "state", "*"))
	if len(files) != 1 {
		t.Errorf("files %v", files)
	}
	if _, record, err := Do(ctx, r, "one", 1, f); err != nil || !record.Reused {
		t.Errorf("%+v, %v", record, err)
	}
}
