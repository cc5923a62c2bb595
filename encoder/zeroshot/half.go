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
// It loads its weights for the first text, because cached texts need no
// network. It is safe for concurrent use.
type TextModel struct {
	path      string
	file      *onnx.File
	tokenizer *Tokenizer
	digest    [sha256.Size]byte

	mu       sync.Mutex
	programs map[int]func() (*program, error) // by length in tokens
}

// A program is the network for texts of one length.
type program struct {
	*engine.Program
	in     inputs
	output string
	fixed  bool // the file fixes the length
}

type inputs struct{ ids, mask, positions string }

// textLimits admit the text halves of the largest public CLIPs.
var textLimits = onnx.Limits{FileBytes: 3 << 30, Memory: 3 << 30, Elements: 1 << 28, Work: 1 << 37}

const (
	maxDim = 4096
	// shortLength suffices for most prompts and takes a fifth of the time if
	// the file leaves the length open, because CLIP ignores tokens after the
	// end.
	shortLength = 16
)

// Open opens a text half with the named tokenizer, or otherwise the one beside
// it. Errors wrap cpar.ErrInput.
func Open(path, tokenizer string) (*TextModel, error) {
	h := &TextModel{path: path, programs: map[int]func() (*program, error){}}
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
			_, err = new(program).readInputs(m.Graph, h.tokenizer.Length())
		}
		return err
	})
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
	clear(h.programs)
	return h.file.Close()
}

// Digest identifies the files of text half and tokenizer.
func (h *TextModel) Digest() [sha256.Size]byte { return h.digest }

func (h *TextModel) read() (*onnx.Model, error) {
	return onnx.Read(h.file.Data, textLimits, h.file.External)
}

// failed adds the file to an error.
func (h *TextModel) failed(err error) error {
	if !errors.Is(err, cpar.ErrInput) {
		err = fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return fmt.Errorf("loading the text half %s: %w", sanitize.Text(h.path), err)
}

// Text returns the embedding of a text.
func (h *TextModel) Text(text string) ([]float32, error) {
	ids, used, err := h.tokenizer.Encode(text, shortLength)
	short := err == nil
	p, err := h.program(short)
	if err != nil {
		return nil, err
	}
	length := p.length()
	if !short || length != shortLength {
		if ids, used, err = h.tokenizer.Encode(text, length); err != nil {
			return nil, fmt.Errorf("reading a text: %w", err)
		}
	}
	in := map[string][]float32{p.in.ids: make([]float32, length)}
	for i, id := range ids {
		in[p.in.ids][i] = float32(id) // exact, because a vocabulary is smaller than 2²⁴
	}
	if p.in.mask != "" {
		in[p.in.mask] = make([]float32, length)
		for i := range used {
			in[p.in.mask][i] = 1
		}
	}
	if p.in.positions != "" {
		in[p.in.positions] = make([]float32, length)
		for i := range length {
			in[p.in.positions][i] = float32(i)
		}
	}
	out, err := p.Run(in, []string{p.output})
	if err != nil {
		return nil, fmt.Errorf("running the text half: %w: %w", cpar.ErrInput, err)
	}
	return out[p.output], nil
}

func (p *program) length() int {
	shape, _ := p.Shape(p.in.ids)
	return shape[len(shape)-1]
}

// program returns the network for short texts or for all, compiled once. A file
// with a fixed length has only one.
func (h *TextModel) program(short bool) (*program, error) {
	_, clip := h.tokenizer.segmenter.(*bpe)
	length := h.tokenizer.Length()
	if short && clip {
		length = min(length, shortLength)
	}
	h.mu.Lock()
	compile, ok := h.programs[length]
	if !ok {
		compile = sync.OnceValues(func() (*program, error) { return h.compile(length) })
		h.programs[length] = compile
	}
	h.mu.Unlock()
	p, err := compile()
	if err != nil {
		return nil, err
	}
	if p.fixed {
		h.mu.Lock()
		for _, n := range []int{h.tokenizer.Length(), min(h.tokenizer.Length(), shortLength)} {
			if _, ok := h.programs[n]; !ok {
				h.programs[n] = compile
			}
		}
		h.mu.Unlock()
	}
	return p, nil
}

func (h *TextModel) compile(length int) (*program, error) {
	p := &program{}
	err := onnx.Guard(func() error {
		m, err := h.read()
		if err != nil {
			return err
		}
		shapes, err := p.readInputs(m.Graph, length)
		if err != nil {
			return err
		}
		_, clip := h.tokenizer.segmenter.(*bpe)
		p.Program, err = engine.Compile(m, engine.Options{Limits: textLimits, Inputs: shapes,
			Choose: func(shape func(string) ([]int, bool)) ([]string, error) {
				p.output, err = chooseOutput(m.Graph.Outputs, shape, clip)
				return []string{p.output}, err
			}})
		return err
	})
	if err != nil {
		return nil, h.failed(err)
	}
	return p, nil
}

func (p *program) readInputs(g *onnx.Graph, length int) (map[string][]int, error) {
	shapes := map[string][]int{}
	var whole []onnx.ValueInfo
	for _, in := range g.FreeInputs() {
		if in.Type.Floating() {
			shapes[in.Name] = imageShape(in) // input of the image half, if the file holds both
		} else {
			whole = append(whole, in)
		}
	}
	for _, in := range whole {
		name := strings.ToLower(in.Name)
		switch {
		case strings.Contains(name, "mask"):
			p.in.mask = in.Name
		case strings.Contains(name, "position"):
			p.in.positions = in.Name
		case p.in.ids == "":
			p.in.ids = in.Name
		default:
			return nil, fmt.Errorf("%w: it takes %.40q and %.40q; a text half takes one list of tokens", cpar.ErrInput, p.in.ids, in.Name)
		}
		switch {
		case !in.HasShape:
		case len(in.Dims) != 2 || in.Dims[0] > 1:
			return nil, fmt.Errorf("%w: its input %.40q has shape %v; a text half takes one list of tokens, as 1×77", cpar.ErrInput, in.Name, in.Dims)
		case in.Dims[1] > 0:
			length, p.fixed = in.Dims[1], true
		}
	}
	if p.in.ids == "" {
		return nil, hint.Add(fmt.Errorf("%w: it takes no tokens (integers)", cpar.ErrInput), "--text-model is the text half of a CLIP-like model; the image half is --model")
	}
	if length > maxLength {
		return nil, fmt.Errorf("%w: texts of %d tokens; %d are accepted", cpar.ErrInput, length, maxLength)
	}
	for _, in := range whole {
		shapes[in.Name] = []int{1, length}
	}
	return shapes, nil
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

// projected are output names, by exporter, of embeddings in the common space.
var projected = []string{"text_embeds", "text_features", "text_embedding", "text_embeddings", "sentence_embedding", "embedding", "embeddings"}

// chooseOutput finds the embedding by its name, or as the only vector. CLIP's
// pooler_output precedes the projection, SigLIP's follows it.
func chooseOutput(outputs []onnx.ValueInfo, shape func(string) ([]int, bool), clip bool) (string, error) {
	var vectors, seen []string
	pooled := ""
	for _, o := range outputs {
		s, ok := shape(o.Name)
		seen = append(seen, fmt.Sprintf("%.40q %v", o.Name, s))
		switch n := len(s); {
		case !ok: // due to a missing operator, which Compile names
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
