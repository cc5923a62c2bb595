package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cmd/internal/encoderflags"
	"cpar/encoder"
	"cpar/encoder/fetch"
	"cpar/encoder/known"
	"cpar/encoder/onnx"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/internal/settings"
)

type modelGetFlags struct {
	from, sha256, out string
	maxBytes          int64
	dryRun, asJSON    bool
}

// fetched is the JSON output of model get.
type fetched struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Address string `json:"address"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes,omitempty"`
	Resumed int64  `json:"resumed"`
	Licence string `json:"licence,omitempty"`
	Already bool   `json:"already"`
	DryRun  bool   `json:"dry_run"`

	digest [sha256.Size]byte
	known  bool
}

func modelGetCommand() *cobra.Command {
	var f modelGetFlags
	c := &cobra.Command{
		Use:   "get NAME",
		Short: "fetch an image network and verify its digest",
		Long: `get fetches a network of cpar model list, or any other with the address and SHA-256 that
you give, over HTTPS. The download is kept in FILE.part until it is complete and its
digest is right. An interrupted download continues with the same command. A file with a
wrong digest is removed. Only ONNX files are accepted, because PyTorch files (.pt, .pth,
.bin) contain programs that run when opened.

--from names another address, of the file or of a folder that holds it under its own name.
The files of a set are called image.onnx, text.onnx, and so on (cpar model list --json).
For a network that is not in the list, --sha256 identifies the file. Get it from a source
that you trust, not from the file's server.

A set, such as clip-b32, has an image half, usually a text half with its tokenizer, and its
preprocessing. get fetches all parts into a folder of cpar's, so that --model NAME names
the set in every command. For a single file, put the preprocessing file
(preprocess_cfg.json, preprocessor_config.json) beside it.

get prints the licence if it is known.`,
		Example: `  $ cpar model get clip-b32
  $ cpar model get mobilenetv2-12
  mobilenetv2-12.onnx (14 MB), licence Apache-2.0
  next: cpar model check mobilenetv2-12.onnx

  $ cpar model get clip --from https://example.org/clip/visual.onnx --sha256 9f86d0…`,
		Args: oneArg("the name of a network"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	c.Flags().StringVar(&f.from, "from", "", "`address` of the file, or of a folder that holds it")
	c.Flags().StringVar(&f.sha256, "sha256", "", "the file's SHA-256 in `hex`, required for a network that is not in the list")
	c.Flags().StringVar(&f.out, "out", "", "write to this `file` (default: NAME.onnx in this folder)")
	c.Flags().Var(settings.Size(&f.maxBytes, encoderflags.DefaultFileBytes), "limit-file", "maximum size of a file of unknown length, such as 2GB")
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

func (f *modelGetFlags) run(cmd *cobra.Command, name string) error {
	if s, ok := findSet(name); ok {
		return f.runSet(cmd, s)
	}
	r, err := f.wanted(name)
	if err != nil {
		return err
	}
	o := fetch.Options{Address: r.Address, Into: r.File, Digest: r.digest, MaxBytes: f.maxBytes, Check: readable, Progress: bar.On(cmd.ErrOrStderr())}
	if r.known {
		o.Bytes = r.Bytes
	}
	r.DryRun = f.dryRun
	if err := r.get(cmd, o); err != nil {
		return err
	}
	return output(cmd, f.asJSON, r, func() {
		if r.print(cmd); !r.DryRun {
			next(cmd, "cpar model check %s", shellWord(r.File))
		}
	})
}

func (r *fetched) get(cmd *cobra.Command, o fetch.Options) error {
	if r.DryRun {
		if info, err := os.Stat(fetch.PartPath(r.File)); err == nil {
			r.Resumed = info.Size()
		}
		return nil
	}
	done, err := fetch.Get(cmd.Context(), o)
	if err == nil {
		r.Bytes, r.Resumed, r.Already = done.Bytes, done.Resumed, done.Already
	}
	return err
}

// readable returns an error if a file is not a network. Unlike cpar model
// check, it does not check whether the operators are supported.
func readable(path string) error {
	limits := encoder.Limits{FileBytes: math.MaxInt64} // no limit, because the file is identified by its digest
	f, err := onnx.Open(path, limits)
	if err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	elsewhere := false
	err = onnx.Guard(func() error {
		_, err := onnx.ReadOutline(f.Data, limits, func(string) ([]byte, error) {
			elsewhere = true
			return nil, errors.New("its data are beside it")
		})
		return err
	})
	if err != nil && !elsewhere {
		return fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return nil
}

func (f *modelGetFlags) wanted(name string) (*fetched, error) {
	m, isKnown := find(name)
	r := &fetched{Name: name, known: isKnown, File: name}
	if isKnown {
		r.Name, r.File, r.Address, r.digest, r.Bytes, r.Licence = m.Name, m.File, m.Address(), m.Digest, m.Bytes, m.Licence
	} else {
		if f.from == "" {
			return nil, hint.Add(exitcode.UsageError(fmt.Errorf("no network %s is known", sanitize.Text(name))), "the known ones are in: cpar model list; any other needs --from and --sha256")
		}
		if err := fetch.CheckName(name); err != nil {
			return nil, err
		}
		if name != path.Base(name) || strings.ContainsAny(name, `/\:`) || name == "." || name == ".." {
			return nil, exitcode.UsageError(fmt.Errorf("a network cannot be called %s", sanitize.Text(name)))
		}
		if filepath.Ext(name) != ".onnx" {
			r.File += ".onnx"
		}
	}
	if err := f.digest(r); err != nil {
		return nil, err
	}
	if f.from != "" {
		r.Address = f.from
		u, err := fetch.CheckAddress(f.from)
		if err != nil {
			return nil, err
		}
		if path.Ext(u.Path) != ".onnx" { // then u is the address of a folder
			r.Address = u.JoinPath(r.File).String()
		}
	}
	if f.out != "" {
		r.File = f.out
		if info, err := os.Stat(f.out); err == nil && info.IsDir() {
			return nil, hint.Add(exitcode.UsageError(fmt.Errorf("--out %s is a folder", sanitize.Text(f.out))), "name the file in it")
		}
	}
	r.SHA256 = fmt.Sprintf("%x", r.digest)
	return r, fetch.CheckName(r.File)
}

// digest sets the digest in r from --sha256. If the file's digest is known,
// --sha256 must equal it.
func (f *modelGetFlags) digest(r *fetched) error {
	if f.sha256 == "" {
		if r.known {
			return nil
		}
		return hint.Add(usageOf("without a SHA-256 the file cannot be verified"), "pass --sha256 with 64 hexadecimal digits, from a source that you trust")
	}
	b, err := hex.DecodeString(strings.TrimPrefix(f.sha256, "sha256:"))
	if err != nil || len(b) != sha256.Size {
		return exitcode.UsageError(fmt.Errorf("--sha256 %s; it has 64 hexadecimal digits", sanitize.Text(f.sha256)))
	}
	given := [sha256.Size]byte(b)
	if r.known && given != r.digest {
		return hint.Add(exitcode.UsageError(fmt.Errorf("%s is known, and has the SHA-256 %x", r.Name, r.digest)), "leave --sha256 out, or give the network another name")
	}
	r.digest = given
	return nil
}

func find(name string) (known.Model, bool) {
	for _, m := range known.List() {
		if name == m.Name || name == m.File {
			return m, true
		}
	}
	return known.Model{}, false
}

func (r *fetched) licence() string {
	switch {
	case r.Licence != "":
		return ", licence " + r.Licence
	case r.known:
		return ", licence: see its source"
	}
	return ""
}

func (r *fetched) would(cmd *cobra.Command) {
	rest := ""
	if r.Resumed > 0 {
		rest = fmt.Sprintf(", of which %s are here", size(uint64(r.Resumed)))
	}
	length := ""
	if r.Bytes > 0 {
		length = " (" + size(uint64(r.Bytes)) + ")"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "would fetch %s%s%s from %s%s; nothing was fetched\n", sanitize.Text(r.File), length, r.licence(), sanitize.Text(r.Address), rest)
}

func (r *fetched) print(cmd *cobra.Command) {
	switch {
	case r.DryRun:
		r.would(cmd)
		return
	case r.Already:
		fmt.Fprintf(cmd.OutOrStdout(), "%s is there already, and is the right file (%s)%s\n", sanitize.Text(r.File), size(uint64(r.Bytes)), r.licence())
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%s (%s)%s\n", sanitize.Text(r.File), size(uint64(r.Bytes)), r.licence())
	}
	if r.Resumed > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s were here from an earlier transfer\n", size(uint64(r.Resumed)))
	}
}
