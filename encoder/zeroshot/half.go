package zeroshot

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cpar"
	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// A TextModel is the text half of a CLIP-like model, run in plain Go. The ONNX
// file may come from OpenAI's CLIP, open_clip, optimum or Immich:
//
//	input_ids 1×77 (1×64 for SigLIP), optional attention_mask ─▶ text_embeds 1×d
//
// The weights are loaded by the first call of Text, because they are not needed
// if the results for all texts are cached. A TextModel is safe for concurrent
// use.
type TextModel struct {
	path      string
	file      *onnx.File
	tokenizer *Tokenizer
	digest    [sha256.Size]byte
	in        inputs
	programs  []program // sorted by length, the shortest first
}

// A program is the text half for texts of one length.
type program struct {
	length  int                       // number of tokens
	compile func() (*compiled, error) // compiles on the first call
}

type compiled struct {
	*engine.Program
	output string
}

// An inputs value names the inputs of a text half. The name of a missing input
// is "".
type inputs struct {
	ids, mask, positions string
	length               int // number of tokens, 0 if the file leaves it open
}

// textLimits admit the text halves of the largest public CLIP models.
var textLimits = onnx.Limits{FileBytes: 3 << 30, Memory: 3 << 30, Elements: 1 << 28, Work: 1 << 37}

const (
	maxDim = 4096
	// shortLength is a number of tokens that suffices for most prompts and
	// takes a fifth of the time of clipLength. It is used if the file leaves
	// the length open. The results are the same, because CLIP ignores tokens
	// after the end of the text.
	shortLength = 16
)

// Open opens a text half. `tokenizer` is the path of its tokenizer. If it is
// empty, Open looks for a tokenizer beside the model. Errors wrap
// cpar.ErrInput.
func Open(path, tokenizer string) (*TextModel, error) {
	h := &TextModel{path: path}
	var err error
	if tokenizer != "" {
		h.tokenizer, err = OpenTokenizer(tokenizer)
	} else {
		h.tokenizer, err = FindTokenizer(path)
	}
	if err != nil {
		return nil, err
	}
	if h.file, err = onnx.Open(path, textLimits); err != nil {
		return nil, fmt.Errorf("reading the text half: %w: %w", cpar.ErrInput, err)
	}
	// Read the model once to validate it and to load the files it names.
	err = onnx.Guard(func() error {
		m, err := h.read()
		if err == nil {
			h.in, err = textInputs(m.Graph)
		}
		return err
	})
	lengths := []int{h.tokenizer.Length()}
	switch {
	case err != nil:
	case h.in.length > 0:
		lengths[0] = h.in.length
	case h.isCLIP() && shortLength < lengths[0]:
		lengths = []int{shortLength, lengths[0]}
	}
	for _, n := range lengths {
		if err == nil && n > maxLength {
			err = fmt.Errorf("%w: texts of %d tokens; %d are accepted", cpar.ErrInput, n, maxLength)
		}
		h.programs = append(h.programs, program{n, sync.OnceValues(func() (*compiled, error) { return h.compile(n) })})
	}
	if err != nil {
		h.Close()
		return nil, h.failed(err)
	}
	file := h.file.Digest()
	sum := sha256.New()
	fmt.Fprintf(sum, "cpar/v1/text %x %x", file, h.tokenizer.Digest())
	sum.Sum(h.digest[:0])
	return h, nil
}

// Close releases the file. Text must not be called afterwards.
func (h *TextModel) Close() error {
	h.programs = nil
	return h.file.Close()
}

func (h *TextModel) isCLIP() bool {
	_, clip := h.tokenizer.segmenter.(*bpe)
	return clip
}

func (h *TextModel) Digest() [sha256.Size]byte { return h.digest }

func (h *TextModel) read() (*onnx.Model, error) {
	return onnx.Read(h.file.Data, textLimits, h.file.External)
}

func (h *TextModel) failed(err error) error {
	if !errors.Is(err, cpar.ErrInput) {
		err = fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return fmt.Errorf("loading the text half %s: %w", sanitize.Text(h.path), err)
}

func (h *TextModel) Text(text string) ([]float32, error) {
	var ids []int64
	var used, length int
	var compile func() (*compiled, error)
	var err error
	for _, p := range h.programs { // use the shortest into which the text fits
		length, compile = p.length, p.compile
		if ids, used, err = h.tokenizer.Encode(text, length); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading a text: %w", err)
	}
	p, err := compile()
	if err != nil {
		return nil, err
	}
	in := map[string][]float32{}
	fill := func(name string, value func(i int) float32) {
		if name == "" {
			return
		}
		in[name] = make([]float32, length)
		for i := range length {
			in[name][i] = value(i)
		}
	}
	fill(h.in.ids, func(i int) float32 { return float32(ids[i]) }) // float32 is exact, because tokens are below 2²⁴
	fill(h.in.mask, func(i int) float32 { return float32(min(1, max(0, used-i))) })
	fill(h.in.positions, func(i int) float32 { return float32(i) })
	out, err := p.Run(in)
	if err != nil {
		return nil, fmt.Errorf("running the text half: %w: %w", cpar.ErrInput, err)
	}
	return out[p.output], nil
}

func (h *TextModel) compile(length int) (*compiled, error) {
	p := &compiled{}
	err := onnx.Guard(func() error {
		m, err := h.read()
		if err != nil {
			return err
		}
		shapes := map[string][]int{}
		for _, in := range m.Graph.FreeInputs() {
			if in.Type.Floating() {
				shapes[in.Name] = imageShape(in) // an input of the image half, in a file with both halves
			} else {
				shapes[in.Name] = []int{1, length}
			}
		}
		p.Program, err = engine.Compile(m, engine.Options{Limits: textLimits, Inputs: shapes,
			Choose: func(shape func(string) ([]int, bool)) ([]string, error) {
				p.output, err = chooseOutput(m.Graph.Outputs, shape, h.isCLIP())
				return []string{p.output}, err
			}})
		return err
	})
	if err != nil {
		return nil, h.failed(err)
	}
	return p, nil
}

func textInputs(g *onnx.Graph) (is inputs, err error) {
	for _, in := range g.FreeInputs() {
		name := strings.ToLower(in.Name)
		switch {
		case in.Type.Floating():
			continue
		case strings.Contains(name, "mask"):
			is.mask = in.Name
		case strings.Contains(name, "position"):
			is.positions = in.Name
		case is.ids == "":
			is.ids = in.Name
		default:
			return is, fmt.Errorf("%w: it takes %.40q and %.40q; a text half takes one list of tokens", cpar.ErrInput, is.ids, in.Name)
		}
		switch {
		case !in.HasShape:
		case len(in.Dims) != 2 || in.Dims[0] > 1:
			return is, fmt.Errorf("%w: its input %.40q has shape %v; a text half takes one list of tokens, as 1×77", cpar.ErrInput, in.Name, in.Dims)
		case in.Dims[1] > 0:
			is.length = in.Dims[1]
		}
	}
	if is.ids == "" {
		return is, hint.Add(fmt.Errorf("%w: it takes no tokens (integers)", cpar.ErrInput), "--text-model is the text half of a CLIP-like model; the image half is --model")
	}
	return is, nil
}

func imageShape(in onnx.ValueInfo) []int {
	shape := slices.Clone(in.Dims)
	for i, usual := range []int{1, 3, 224, 224} {
		if i < len(shape) && shape[i] <= 0 {
			shape[i] = usual
		}
	}
	return shape
}

// projected lists the names that various exporters give to the output that is
// projected into the common space of images and texts.
var projected = []string{"text_embeds", "text_features", "text_embedding", "text_embeddings", "sentence_embedding", "embedding", "embeddings"}

// chooseOutput finds the output that is the embedding, by its name or as the
// only vector. An output pooler_output is the embedding in SigLIP, but in CLIP
// it still lacks the projection.
func chooseOutput(outputs []onnx.ValueInfo, shape func(string) ([]int, bool), clip bool) (string, error) {
	var vectors, seen []string
	pooled := ""
	for _, o := range outputs {
		s, ok := shape(o.Name)
		seen = append(seen, fmt.Sprintf("%.40q %v", o.Name, s))
		switch n := len(s); {
		case !ok: // an operator is missing, which Compile reports
			vectors = append(vectors, o.Name)
		case n < 1 || n > 2 || s[n-1] < 2 || s[n-1] > maxDim || n == 2 && s[0] != 1:
		case o.Name == "pooler_output":
			pooled = o.Name
		case strings.Contains(o.Name, "image"):
		default:
			vectors = append(vectors, o.Name)
		}
	}
	for _, name := range projected {
		if slices.Contains(vectors, name) {
			return name, nil
		}
	}
	switch {
	case len(vectors) == 1:
		return vectors[0], nil
	case pooled != "" && !clip:
		return pooled, nil
	case pooled != "":
		return "", hint.Add(fmt.Errorf("%w: it gives %.40q, which is not projected into the space of images", cpar.ErrInput, pooled), "export it with its projection (CLIPTextModelWithProjection), whose output is text_embeds")
	}
	return "", hint.Add(fmt.Errorf("%w: none of its outputs is the embedding of a text: %s", cpar.ErrInput, strings.Join(seen, ", ")), "export the text half alone, with one output 1×d")
}
