package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cmd/internal/encoderflags"
	"cpar/encoder"
	"cpar/encoder/bundled"
	"cpar/encoder/prepare"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/internal/settings"
	"cpar/model/profile"
	"cpar/user"
)

// modelFlags name the image network that profile "network" uses, and its
// preprocessing.
type modelFlags struct {
	encoderflags.Flags
	cmd    *cobra.Command
	path   string
	set    string // name of a set if `path` is its image half, otherwise ""
	none   bool   // whether --model none was given
	opened *encoder.Encoder
}

func (m *modelFlags) add(c *cobra.Command) {
	m.cmd = c
	c.Flags().StringVar(&m.path, "model", "", "image network of profile network, an ONNX `file`, the name of a set, bundled for the one inside cpar, or none (default $CPAR_MODEL, otherwise bundled); see cpar model")
	m.Add(c.Flags())
}

// Check refuses values that are invalid for every network.
func (m *modelFlags) Check() error {
	if m.path == settings.None {
		m.path, m.none = "", true
	}
	if _, ok := findSet(m.path); ok {
		m.set = m.path
	}
	var err error
	if m.path, err = partOfSet(m.path, "image"); err != nil {
		return err
	}
	return m.Flags.Check()
}

// orBundled selects the bundled network unless the user named a network or gave
// --model none.
func (m *modelFlags) orBundled() {
	if m.path == "" && !m.none {
		m.path = bundled.Name
	}
}

// isDefault reports whether commands would use the same network and options
// without any flag.
func (m *modelFlags) isDefault() bool {
	return m.path == bundled.Name && m.CommandLine(shellWord) == ""
}

var errNoModel = errors.New("this profile needs an image network, and none was named")

// open opens the named network, or returns it if it is already open. With
// --verbose, open writes a description of the network to `notes`, which may be
// nil.
func (m *modelFlags) open(notes io.Writer) (*encoder.Encoder, error) {
	if m.path == "" {
		return nil, hint.Add(exitcode.UsageError(errNoModel), "leave --model none out, or pass --model FILE with an ONNX file; cpar model list names some")
	}
	if m.opened == nil {
		n, err := encoder.Open(m.path, m.Options())
		if err != nil {
			return nil, hint.Add(err, "see what it has and lacks: cpar model check %s", shellWord(m.path)+m.CommandLine(shellWord))
		}
		m.opened = n
		if notes != nil && verbose(m.cmd) {
			describe(n).print(notes, m.path)
		}
	}
	return m.opened, nil
}

// forOwner returns the network that the owner's index needs, or nil if it needs
// none. A missing or different network is an error. If --model is not given,
// forOwner tries the bundled network.
func (m *modelFlags) forOwner(o *user.Owner, notes io.Writer) (*encoder.Encoder, error) {
	want, needed := o.Profile().Network()
	if needed && m.path == "" && !m.none {
		if err := m.tryBundled(want); err != nil {
			return nil, err
		}
	}
	if !needed || m.path == "" {
		return nil, o.SetEncoder(nil)
	}
	n, err := m.open(notes)
	if err != nil {
		return nil, err
	}
	if err := o.SetEncoder(n); err != nil {
		return nil, m.recalled(want, err)
	}
	return n, nil
}

// tryBundled selects the bundled network if its digest is `want`.
func (m *modelFlags) tryBundled(want [32]byte) error {
	n, err := encoder.Open(bundled.Name, m.Options())
	if err != nil {
		return err
	}
	if n.Digest() != want {
		return n.Close()
	}
	m.path, m.opened = bundled.Name, n
	return nil
}

// recalled improves the error for a network that the index was not built with.
// If the index was built with the same file but other flags, the new error
// shows those flags.
func (m *modelFlags) recalled(want [32]byte, err error) error {
	if m.opened.Digest() == want {
		return err
	}
	with, ok := encoder.Recall(m.path, want, m.Options())
	if !ok {
		return err
	}
	// Leave out flags whose values equal the defaults.
	now := m.opened.Choice()
	was := *m
	was.Preprocessing, was.Embedding, was.Pool, was.Side = with.Preprocessing, with.Embedding, with.Pool, with.Side
	if p, _ := m.opened.Preprocessing(); max(1, p.Views) != with.Views {
		was.Views = int(with.Views)
	}
	if was.Embedding == now.Name {
		was.Embedding = m.Embedding
	}
	if was.Pool == now.Pool {
		was.Pool = m.Pool
	}
	because := ""
	if m.Preprocessing == "clip" && was.Preprocessing == "clip-bilinear" {
		because = "; preset clip of that time is now called clip-bilinear"
	}
	return hint.Add(fmt.Errorf("%w: the index was built with this file, but with other flags%s", cpar.ErrInput, because), "pass the same flags:%s", was.again())
}

// again returns the network's flags as the user gave them, for use in a
// suggested next command.
func (m *modelFlags) again() string {
	return " --model " + shellWord(cmp.Or(m.set, m.path)) + m.CommandLine(shellWord)
}

// A usedNetwork describes a network and how its embeddings are computed.
type usedNetwork struct {
	Embedding     chosenTensor          `json:"embedding"`
	Preprocessing prepare.Preprocessing `json:"preprocessing"`
	From          string                `json:"preprocessing_from"`
	Runtime       string                `json:"runtime"`
}

type chosenTensor struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	Size   int    `json:"size"`
	Pool   string `json:"pool,omitempty"`
	Reason string `json:"reason"`
}

func describe(n *encoder.Encoder) *usedNetwork {
	p, from := n.Preprocessing()
	return &usedNetwork{Embedding: chosenTensor(n.Choice()), Preprocessing: p, From: from, Runtime: n.RuntimeName()}
}

func (u *usedNetwork) print(w io.Writer, path string) {
	fmt.Fprintf(w, "network %s: photos are compared by %s\n", sanitize.Text(path), u.Embedding)
	fmt.Fprintf(w, "  pictures: %s (%s); run by %s\n", wants(u.Preprocessing), sanitize.Text(u.From), sanitize.Text(u.Runtime))
}

func (c chosenTensor) String() string {
	shape := make([]string, len(c.Shape))
	for i, d := range c.Shape {
		shape[i] = fmt.Sprint(d)
	}
	return fmt.Sprintf("%s, %d values of a tensor of %s (%s)", sanitize.Text(c.Name), c.Size, strings.Join(shape, "×"), sanitize.Text(c.Reason))
}

// found holds, for each profile, the mean number of a photo's true keywords
// that scheme "sealed" finds, from docs/results.md. given is the mean number of
// true keywords.
var found = map[profile.Kind]float64{profile.Paper: 1.6, profile.Learned: 2.1, profile.Network: 2.4}

const given = 3.5

// worthIt prints the benefit of a network for users without one, or the benefit
// of a larger network for users of the bundled one.
func (m *modelFlags) worthIt(w io.Writer) {
	switch m.path {
	case "":
		fmt.Fprintf(w, "note: without an image network photos are compared by colours and textures, and less is found: of the %.1f keywords that a person gave a photo of Corel-5k, profile paper finds %.1f, learned %.1f and network %.1f. Leave --model none out, or see cpar model list and pass --model FILE\n",
			given, found[profile.Paper], found[profile.Learned], found[profile.Network])
	case bundled.Name:
		gives, do := betterEncoder()
		fmt.Fprintf(w, "note: the encoder is the small one inside cpar. %s: %s\n", gives, do)
	}
}

// betterEncoder describes the advantage of a larger encoder and how to get it.
func betterEncoder() (gives, do string) {
	const name = "clip-b32"
	s, _ := findSet(name)
	do = "cpar model get " + name
	if _, err := partOfSet(name, "image"); err == nil { // it is on this device
		do = "pass --model " + name
	}
	return fmt.Sprintf("A CLIP encoder such as %s (%s, about fifteen times the work per photo) also knows people, events and abstract words, and suggests words that your collection does not have",
		name, size(uint64(s.Bytes()))), do
}

func (m *modelFlags) unused(w io.Writer, profile, use string) {
	fmt.Fprintf(w, "note: profile %s uses no image network, so %s is not used%s\n", profile, m.path, use)
}
