package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cpar/encoder"
	"cpar/encoder/bundled"
	"cpar/encoder/fetch"
	"cpar/encoder/onnxruntime"
	"cpar/encoder/prepare"
	"cpar/internal/humanfmt"
	"cpar/internal/sanitize"
	"cpar/photo/decode"
)

// Timing a network ends after timedRuns runs or after timedFor.
const (
	timedRuns = 9
	timedFor  = 15 * time.Second
)

// checkedModel is the JSON output of model check.
type checkedModel struct {
	Embedding     checkedEmbedding       `json:"embedding"`
	Preprocessing *prepare.Preprocessing `json:"preprocessing"`
	Missing       []string               `json:"missing"`
	MS            checkedMS              `json:"ms"`

	used     usedNetwork
	unchosen error          // reason why no tensor was chosen as the embedding, or nil
	native   checkedRuntime // the network in plain Go
	library  checkedRuntime // the network in ONNX Runtime
	absent   error          // reason why ONNX Runtime is missing, or nil
	cosine   float64        // cosine between the embeddings of both runtimes
}

var errNotAsked = errors.New("not asked for: --runtime onnxruntime, or name its library in " + onnxruntime.Variable)

type checkedEmbedding struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	Reason string `json:"reason"`
}

// checkedMS holds the time per image on one core in milliseconds. A time is nil
// if the runtime cannot run the network.
type checkedMS struct {
	Go          *float64 `json:"go"`
	ONNXRuntime *float64 `json:"onnxruntime"`
}

// checkedRuntime is a network opened in one of the runtimes.
type checkedRuntime struct {
	encoder   *encoder.Encoder // nil if the runtime cannot run the network
	err       error            // reason why it cannot, or nil
	name      string
	embedding []float32
	took      []float64 // milliseconds of each run
}

func modelCheckCommand() *cobra.Command {
	var model modelFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "show how cpar uses an image network, what it lacks, and its speed",
		Long: `check opens an image network as build and annotate would, and prints:

  embedding      the tensor by which photos are compared, its shape, and the reason for
                 the choice. --embedding, --pool and --side choose otherwise, for all
                 commands
  preprocessing  how images are prepared, and where this is defined: --preprocessing, a file
                 beside the network (its own name with .json, preprocessor_config.json,
                 preprocess_cfg.json, open_clip_config.json, config.json), its metadata,
                 or its digest
  operators      all operators that plain Go does not have
  speed          milliseconds per image on one core, the median of several runs, in plain
                 Go and, with --runtime onnxruntime or a library in CPAR_ONNXRUNTIME, in
                 ONNX Runtime, and how far the two agree

The exit code is 3 if neither runtime can use it. ONNX Runtime is C++ inside the process:
use it only with files that you trust.`,
		Example: `  $ cpar model check clip/visual.onnx
  embedding: image_embeds, 512 values of a tensor of 1×512 (the output of that name)
  pictures: 224×224, the centre of a shorter side of 224, bicubic (preprocess_cfg.json)
  plain Go: 96 ms a picture on one core`,
		Args: oneArg("an ONNX file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			model.path = args[0]
			if err := model.Check(); err != nil {
				return err
			}
			r, err := model.inspect(cmd.Context())
			if err != nil {
				return err
			}
			if r.unchosen != nil && !asJSON { // there is no more to report
				return fmt.Errorf("checking %s: %w", sanitize.Text(model.path), r.unchosen)
			}
			if err := output(cmd, asJSON, r, func() { r.print(cmd.OutOrStdout()) }); err != nil {
				return err
			}
			if err := r.err(model.Runtime); err != nil {
				return fmt.Errorf("checking %s: %w", sanitize.Text(model.path), err)
			}
			if !asJSON {
				if r.native.encoder == nil {
					model.Runtime = encoder.ONNXRuntime
				}
				next(cmd, "cpar build PHOTOS%s --out FOLDER.index", model.again())
			}
			return nil
		},
	}
	model.Add(c.Flags())
	return jsonFlag(c, &asJSON)
}

func (m *modelFlags) inspect(ctx context.Context) (*checkedModel, error) {
	if err := fetch.CheckName(m.path); err != nil {
		return nil, err
	}
	if m.path != bundled.Name { // the name bundled.Name is not a file
		if err := fetch.CheckFile(m.path); err != nil {
			return nil, fmt.Errorf("checking %s: %w", sanitize.Text(m.path), err)
		}
	}
	report, err := encoder.Inspect(m.path, m.Options())
	if err != nil {
		return nil, err
	}
	if report.EmbeddingErr != nil {
		return &checkedModel{Missing: report.Missing, Embedding: checkedEmbedding{Reason: report.EmbeddingErr.Error()}, unchosen: report.EmbeddingErr}, nil
	}
	r := &checkedModel{Missing: report.Missing, native: checkedRuntime{err: report.GoErr}, used: usedNetwork{Embedding: chosenTensor(report.Embedding), From: report.From}}
	if report.GoErr == nil {
		r.native.open(m, encoder.Go)
	}
	// ONNX Runtime runs only on request, because it is a C++ program that a
	// crafted file may exploit.
	r.library.err = errNotAsked
	if m.Runtime != encoder.Go || os.Getenv(onnxruntime.Variable) != "" {
		if _, r.absent = onnxruntime.Open(""); r.absent != nil {
			r.library.err = r.absent
		} else {
			r.library.open(m, encoder.ONNXRuntime)
		}
	}
	defer r.native.close()
	defer r.library.close()
	how := report.Preprocessing
	for _, x := range []*checkedRuntime{&r.native, &r.library} {
		if x.encoder != nil {
			r.used = *describe(x.encoder)
			how = r.used.Preprocessing
			break
		}
	}
	if r.used.From != "" {
		r.Preprocessing, r.used.Preprocessing = &how, how
	}
	r.Embedding = checkedEmbedding{r.used.Embedding.Name, r.used.Embedding.Size, r.used.Embedding.Reason}
	return r, r.time(ctx, how)
}

func (x *checkedRuntime) open(m *modelFlags, runtime string) {
	o := m.Options()
	o.Runtime = runtime
	if x.encoder, x.err = encoder.Open(m.path, o); x.err == nil {
		x.name = x.encoder.RuntimeName()
	}
}

func (x *checkedRuntime) close() {
	if x.encoder != nil {
		_ = x.encoder.Close()
	}
}

// time measures the runs of both runtimes. It alternates between them, so that
// other load slows both alike.
func (r *checkedModel) time(ctx context.Context, how prepare.Preprocessing) error {
	p := madePicture(max(how.Width, how.Shorter), max(how.Height, how.Shorter))
	begun := time.Now()
	for i := 0; i < timedRuns && (i < 2 || time.Since(begun) < timedFor); i++ {
		for _, x := range []*checkedRuntime{&r.native, &r.library} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := x.run(p, i > 0); err != nil { // the first run is a warm-up and not counted
				return err
			}
		}
	}
	r.MS.Go, r.MS.ONNXRuntime = r.native.ms(), r.library.ms()
	if r.native.encoder != nil && r.library.encoder != nil {
		r.cosine = cosine(r.native.embedding, r.library.embedding)
	}
	return nil
}

func (x *checkedRuntime) run(p *decode.Image, count bool) (err error) {
	if x.encoder == nil {
		return nil
	}
	begun := time.Now()
	x.embedding, err = x.encoder.Embed(p)
	if count {
		x.took = append(x.took, time.Since(begun).Seconds()*1000)
	}
	return err
}

func (x *checkedRuntime) ms() *float64 {
	if len(x.took) == 0 {
		return nil
	}
	median := humanfmt.Round(humanfmt.Median(x.took), 2)
	return &median
}

// madePicture makes a synthetic image of the given size. The caller chooses a
// size that needs almost no resizing, so that only the network is timed.
func madePicture(width, height int) *decode.Image {
	p := &decode.Image{Width: width, Height: height, RGB: make([]byte, 3*width*height)}
	for i := range p.RGB {
		x, y, c := i/3%width, i/3/width, i%3
		p.RGB[i] = byte((x*(3+c) ^ y*(5-c)) + x*y/64)
	}
	return p
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// err returns the reason why the network cannot be used, or nil. It also
// reports a damaged ONNX Runtime.
func (r *checkedModel) err(runtime string) error {
	switch {
	case r.unchosen != nil:
		return r.unchosen
	case runtime == encoder.ONNXRuntime:
		return r.library.err
	case r.absent != nil && !errors.Is(r.absent, onnxruntime.ErrNotFound):
		return r.absent
	case r.native.encoder != nil || r.library.encoder != nil:
		return nil
	}
	return r.native.err
}

func (r *checkedModel) print(out io.Writer) {
	fmt.Fprintf(out, "embedding: %s\n", r.used.Embedding)
	if r.used.From == "" {
		fmt.Fprintln(out, "pictures: their preprocessing is not defined")
	} else {
		fmt.Fprintf(out, "pictures: %s (%s)\n", wants(r.used.Preprocessing), sanitize.Text(r.used.From))
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(out, "operators that plain Go does not have: %s\n", sanitize.Text(strings.Join(r.Missing, ", ")))
	}
	r.native.print(out, "plain Go")
	if errors.Is(r.library.err, errNotAsked) {
		fmt.Fprintf(out, "ONNX Runtime: %v\n", errNotAsked)
	} else {
		r.library.print(out, "ONNX Runtime")
	}
	if r.cosine != 0 {
		fmt.Fprintf(out, "their embeddings of one picture: cosine %.7f\n", r.cosine)
	}
}

func (x *checkedRuntime) print(out io.Writer, name string) {
	if x.encoder == nil {
		fmt.Fprintf(out, "%s: cannot run it: %s\n", name, sanitize.Text(x.err.Error()))
		return
	}
	fmt.Fprintf(out, "%s: %s ms a picture on one core\n", x.name, humanfmt.Digits(*x.ms()))
}
