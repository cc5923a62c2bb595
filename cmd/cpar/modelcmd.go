package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cpar/encoder/known"
	"cpar/encoder/prepare"
)

func modelCommand() *cobra.Command {
	return group(&cobra.Command{Use: "model", Short: "find, fetch and check image networks, which find more keywords"},
		modelListCommand(), modelGetCommand(), modelCheckCommand())
}

// listedModel is a network in cpar model list.
type listedModel struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Address string `json:"address"`
	Source  string `json:"source"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
	Size    int    `json:"size"`
	Layout  string `json:"layout"`
	// Preprocessing has the same form as a --preprocessing file.
	Preprocessing prepare.Preprocessing `json:"preprocessing"`
	Licence       string                `json:"licence"`
	Parts         []listedPart          `json:"parts,omitempty"` // files of a set, for which Bytes is the sum
}

func listed(m known.Model) listedModel {
	layout := "NCHW"
	if m.NHWC {
		layout = "NHWC"
	}
	return listedModel{Name: m.Name, File: m.File, Address: m.Address(), Source: m.Source, SHA256: fmt.Sprintf("%x", m.Digest), Bytes: m.Bytes,
		Size: m.Size, Layout: layout, Preprocessing: m.Preprocessing, Licence: m.Licence}
}

func modelListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "list the networks known by their digest",
		Long: `list prints the public networks that cpar knows by their SHA-256, with size,
preprocessing, licence and address: sets of the encoders that photo programs use, CLIP,
SigLIP and DINOv2, and classifiers of the ONNX model zoo, trained on ImageNet like the
small network inside cpar, which is the default. A set has an image half, and usually a
text half with its tokenizer, which suggests words that your collection does not have.

The addresses were not tested for this version. cpar model get compares every download
with its digest. Any other network in ONNX format can be used with its configuration file:
cpar model check FILE`,
		Example: `  $ cpar model list
  $ cpar model get clip-b32`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := []listedModel{}
			for _, m := range known.List() {
				all = append(all, listed(m))
			}
			models := all
			for _, s := range knownSets() {
				all = append(all, listedSet(s))
			}
			return output(cmd, asJSON, all, func() {
				printSets(cmd.OutOrStdout(), all[len(models):])
				fmt.Fprintln(cmd.OutOrStdout())
				printModels(cmd.OutOrStdout(), models)
			})
		},
	}
	return jsonFlag(c, &asJSON)
}

func printModels(out io.Writer, all []listedModel) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tsize\tpictures\tlicence")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, size(uint64(m.Bytes)), wants(m.Preprocessing), cmp.Or(m.Licence, "see its source"))
	}
	w.Flush()
	fmt.Fprintf(out, "\nFrom the ONNX model zoo (github.com/onnx/models), whose files are now at\n%s\n", known.Zoo)
}

func wants(p prepare.Preprocessing) string {
	what := []string{fmt.Sprintf("%d×%d", p.Width, p.Height)}
	switch {
	case p.Resize == prepare.ResizeCrop:
		what = append(what, fmt.Sprintf("the centre of a shorter side of %d", p.Shorter))
	case p.Resize == prepare.ResizePad:
		what = append(what, "the whole picture with a border")
	case p.Shorter != 0:
		what = append(what, fmt.Sprintf("the centre of the whole picture as %d×%[1]d", p.Shorter))
	default:
		what = append(what, "the whole picture")
	}
	what = append(what, cmp.Or(string(p.Interpolation), "bilinear"))
	if p.Color != prepare.RGB {
		what = append(what, string(p.Color))
	}
	if p.Views > 1 {
		what = append(what, fmt.Sprintf("mean of %d views", p.Views))
	}
	return strings.Join(what, ", ")
}
