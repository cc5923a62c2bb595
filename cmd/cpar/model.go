package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/network"
	"cpar/user/network/prepare"
)

// modelFlags name the image network that profile `network` needs.
type modelFlags struct {
	path, preprocessing, runtime string
	opened                       *network.Encoder
}

func (m *modelFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&m.path, "model", "", "image network of profile network, an ONNX `file` (default $CPAR_MODEL)")
	c.Flags().StringVar(&m.preprocessing, "preprocessing", "", "how pictures are prepared for the network: "+strings.Join(prepare.Presets(), ", ")+", or a `file` of this or another program; by default what lies beside the model, or what it says itself")
	c.Flags().StringVar(&m.runtime, "runtime", "auto", "what runs the network: go, onnxruntime, or auto")
}

var runtimes = []string{"auto", "go", "onnxruntime"}

// check refuses what can be known to be wrong without the file.
func (m *modelFlags) check() error {
	if m.runtime != "" && !slices.Contains(runtimes, m.runtime) {
		return exitcode.UsageError(fmt.Errorf("--runtime %q; there are auto, go and onnxruntime", m.runtime))
	}
	return nil
}

var errNoModel = errors.New("profile network needs an image network, and none was named")

// open opens the network that was named, once.
func (m *modelFlags) open() (*network.Encoder, error) {
	if m.path == "" {
		return nil, hint.Add(exitcode.UsageError(errNoModel), "pass --model FILE, an ONNX file, or set CPAR_MODEL")
	}
	if m.opened == nil {
		n, err := network.Open(m.path, network.OpenOptions{Runtime: m.runtime, Preprocessing: m.preprocessing})
		if err != nil {
			return nil, hint.Add(err, "--model takes an image network in ONNX format, --preprocessing a preset (%s) or a JSON file", strings.Join(prepare.Presets(), ", "))
		}
		m.opened = n
	}
	return m.opened, nil
}

// forOwner gives an owner the network that its index needs, nil where it needs
// none. No network, or another one, is refused.
func (m *modelFlags) forOwner(o *user.Owner) (*network.Encoder, error) {
	if _, needed := o.Profile().Network(); !needed || m.path == "" {
		return nil, o.Use(nil)
	}
	n, err := m.open()
	if err != nil {
		return nil, err
	}
	return n, o.Use(n)
}

// again are the flags as they were given, for a command to type next.
func (m *modelFlags) again() string {
	again := " --model " + shellWord(m.path)
	if m.preprocessing != "" {
		again += " --preprocessing " + shellWord(m.preprocessing)
	}
	if m.runtime != "" && m.runtime != runtimes[0] {
		again += " --runtime " + m.runtime
	}
	return again
}

// worthIt says what a network would be good for, where none was named.
func (m *modelFlags) worthIt(w io.Writer) {
	fmt.Fprintln(w, "note: without an image network photos are compared by colours and textures; with one about twice as much is found. "+
		"Take MobileNetV2 in ONNX form, from the ONNX model zoo, or another image classifier, and pass --model FILE (README, Which profile)")
}

// unused says that a model is not used, to whom it may surprise.
func (m *modelFlags) unused(w io.Writer, profile, use string) {
	fmt.Fprintf(w, "note: profile %s uses no image network, so %s is not used%s\n", profile, m.path, use)
}
