package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"cpar"
)

func TestClusterKey(t *testing.T) {
	seed := filepath.Join(t.TempDir(), "machines.seed")
	key := func() (string, error) {
		var out bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetArgs([]string{"cluster", "key", "--config", "none", "--nats-seed", seed})
		err := root.Execute()
		return out.String(), err
	}
	first, err := key()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(seed)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(b))
	if err != nil {
		t.Fatal(err)
	}
	if public, _ := pair.PublicKey(); !strings.Contains(first, "nkey: "+public+",") {
		t.Errorf("%s is not in what is printed: %s", public, first)
	}
	if info, err := os.Stat(seed); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if again, err := key(); err != nil || again != first {
		t.Errorf("the second time: %q, %v", again, err)
	}
	if err := os.WriteFile(seed, []byte("SUAB"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := key(); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a file without a seed: %q, %v", out, err)
	}
	// Other tests run with servers that allow the same.
	source, err := os.ReadFile("../../internal/testing/natstest/natstest.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), userConfig) {
		t.Error("package natstest has other permissions")
	}
}
