// Command release builds everything that a version of CPAR publishes.
//
//	clean checkout, VERSION ─▶ programs ─▶ archives, bills of materials
//	                                    ─▶ deb, rpm and apk packages
//	                                    ─▶ OCI image archives
//	all of these ─▶ latest.json, SHA256SUMS ─▶ SHA256SUMS.minisig
//
// The output depends only on the commit, the version, the keys and the version
// of Go, so that anyone can build it again and compare digests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

const containers = "linux"

var targets = []target{
	{containers, "amd64"}, {containers, "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// A release contains the folders and everything that the output depends on.
type release struct {
	root, out, work string
	module          string
	version         string // without v, such as 1.2.3
	revision        string
	date            time.Time // date of the commit
	targets         []target
	keys            keys
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release/build:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	r := release{targets: targets}
	flags := flag.NewFlagSet("release/build", flag.ExitOnError)
	only := flags.String("only", "", "build for one `target`, such as linux/amd64")
	r.keys.add(flags)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: release/build [flags] VERSION OUT")
		flags.PrintDefaults()
	}
	// Flags may also follow VERSION and OUT.
	var names []string
	for {
		_ = flags.Parse(args) // exits on an error
		if args = flags.Args(); len(args) == 0 {
			break
		}
		names, args = append(names, args[0]), args[1:]
	}
	if len(names) != 2 || !semver.IsValid("v"+strings.TrimPrefix(names[0], "v")) {
		return fmt.Errorf("need a version such as 1.2.3, and a folder: got %q", names)
	}
	r.version = strings.TrimPrefix(names[0], "v")
	from := os.Getenv("CPAR_RELEASE_FROM")
	r.out = absolute(from, names[1])
	r.keys.from(from)
	if *only != "" {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == *only })
		if i < 0 {
			return fmt.Errorf("there is no target %s: there are %v", *only, targets)
		}
		r.targets = targets[i : i+1]
	}
	if err := r.readCheckout(); err != nil {
		return err
	}
	return r.build()
}

func absolute(from, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(from, path)
}

func (r *release) readCheckout() (err error) {
	if r.root, err = filepath.Abs(".."); err != nil {
		return err
	}
	changed, err := r.output("git", "status", "--porcelain")
	if err == nil && changed != "" {
		return fmt.Errorf("the checkout has uncommitted changes:\n%s", changed)
	}
	seconds := ""
	for _, x := range []struct {
		to   *string
		args []string
	}{
		{&r.revision, []string{"git", "rev-parse", "HEAD"}},
		{&seconds, []string{"git", "show", "--no-patch", "--format=%ct", "HEAD"}},
		{&r.module, []string{"go", "list", "-m"}},
	} {
		if *x.to, err = r.output(x.args[0], x.args[1:]...); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	r.date = time.Unix(n, 0).UTC()
	return errors.Join(err, os.Setenv("SOURCE_DATE_EPOCH", seconds))
}

func (r *release) output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return strings.TrimSpace(string(out)), err
}

func (r *release) build() (err error) {
	if entries, _ := os.ReadDir(r.out); len(entries) > 0 {
		return fmt.Errorf("%s is not empty", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "cpar-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	common, err := r.common()
	if err != nil {
		return err
	}
	var stages []stage
	for _, t := range r.targets {
		fmt.Println("building", t)
		s, err := r.stage(t, common)
		if err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
		if t.os == containers {
			if err := r.packages(s); err != nil {
				return fmt.Errorf("%v: %w", t, err)
			}
			stages = append(stages, s)
		}
	}
	if err := r.images(stages); err != nil {
		return err
	}
	return r.sums()
}
