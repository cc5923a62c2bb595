// Package checkpoint runs slow measurements only once.
//
//	Do(name, inputs, measure) ─▶ DIR/state/name.json exists, same inputs? ─▶ its result
//	                           └▶ otherwise measure ─▶ write, rename ─▶ its result
//
// A result belongs to its inputs (the collection and the parameters) and to its
// origin: the program, its commit and the machine. If any of them differs, the
// step is measured again. A step is done when its complete file exists, so
// interrupting a run loses only the step in progress.
//
// Fresh results are also encoded as JSON and decoded, so that a report from
// stored results is identical to the report of the run.
package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cpar"
	"cpar/internal/durable"
)

type Runner struct {
	// Dir is the folder of results. If it is "", nothing is stored and every
	// step is measured.
	Dir string
	// Origin identifies the measuring program and its machine.
	Origin Origin
	// AnyOrigin accepts stored results of other programs and machines too.
	AnyOrigin bool
}

// An Origin identifies the program and the machine that measured a step.
type Origin struct {
	Program string `json:"program"` // digest of the executable
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
}

// A Record describes how a result was obtained.
type Record struct {
	Name   string `json:"name"`
	Inputs string `json:"inputs"`
	Origin
	Seconds float64 `json:"seconds"`
	Reused  bool    `json:"-"`
}

type stepFile struct {
	Record
	Result json.RawMessage `json:"result"`
}

// Do returns the stored result of a step. If there is none, it measures and
// stores it. The JSON of `inputs` must contain everything that determines the
// result.
func Do[T any](ctx context.Context, r *Runner, name string, inputs any, measure func(context.Context) (*T, error)) (*T, Record, error) {
	digest, err := digestOf(inputs)
	if err != nil {
		return nil, Record{}, fmt.Errorf("step %s: %w", name, err)
	}
	if result, record, err := Load[T](r, name); err == nil && record.Inputs == digest && (r.AnyOrigin || record.Origin == r.Origin) {
		return result, record, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, Record{}, fmt.Errorf("step %s: %w", name, err)
	}
	begun := time.Now()
	result, err := measure(ctx)
	if err != nil {
		return nil, Record{}, fmt.Errorf("step %s: %w", name, err)
	}
	k := stepFile{Record: Record{Name: name, Inputs: digest, Origin: r.Origin, Seconds: time.Since(begun).Seconds()}}
	if k.Result, err = json.Marshal(result); err != nil {
		return nil, Record{}, fmt.Errorf("step %s: writing its result: %w", name, err)
	}
	if err := r.write(k); err != nil {
		return nil, Record{}, fmt.Errorf("step %s: %w", name, err)
	}
	result = new(T)
	if err := json.Unmarshal(k.Result, result); err != nil {
		return nil, Record{}, fmt.Errorf("step %s: reading its result: %w", name, err)
	}
	return result, k.Record, nil
}

// Load returns the stored result of a step, for any inputs. If no result is
// stored, the error wraps fs.ErrNotExist. A damaged file is also an error.
func Load[T any](r *Runner, name string) (*T, Record, error) {
	fail := func(err error) (*T, Record, error) {
		return nil, Record{}, fmt.Errorf("reading step %s: %w", name, err)
	}
	if r.Dir == "" {
		return fail(fs.ErrNotExist)
	}
	b, err := os.ReadFile(r.path(name))
	if err != nil {
		return fail(err)
	}
	var k stepFile
	if err := json.Unmarshal(b, &k); err != nil || k.Name != name {
		return fail(errors.Join(cpar.ErrCorrupt, err))
	}
	result := new(T)
	dec := json.NewDecoder(bytes.NewReader(k.Result))
	dec.DisallowUnknownFields() // reject files of other versions
	if err := dec.Decode(result); err != nil {
		return fail(fmt.Errorf("%w: %w", cpar.ErrCorrupt, err))
	}
	k.Reused = true
	return result, k.Record, nil
}

func (r *Runner) path(name string) string {
	return filepath.Join(r.Dir, "state", name+".json")
}

func (r *Runner) write(k stepFile) error {
	if r.Dir == "" {
		return nil
	}
	b, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return err
	}
	path := r.path(k.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	return durable.WriteFile(path, b, 0o644)
}

func digestOf(inputs any) (string, error) {
	b, err := json.Marshal(inputs)
	if err != nil {
		return "", fmt.Errorf("its inputs: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
