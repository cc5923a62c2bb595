package encoder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

// maxEmbedding is how many values an embedding may have. Of the usual networks VGG has
// most, 4,096; a tensor of more is a feature map, an inner layer or a table of attention.
const maxEmbedding = 4096

// defaultEmbedding is the name of a tensor that is taken whatever else there is.
const defaultEmbedding = "embedding"

// A Choice is the tensor of a network that is taken as the embedding.
type Choice struct {
	Name   string
	Shape  []int  // for one image
	Size   int    // values of the embedding, after pooling
	Pool   string // how tokens or the pixels of a feature map become one: "" if it is a vector already
	Reason string // why this one, in words
}

// String describes the choice in a line.
func (c Choice) String() string {
	return fmt.Sprintf("%.80q, %d values (%s; of shape %s)", c.Name, c.Size, c.Reason, formatShape(c.Shape))
}

func formatShape(shape []int) string {
	words := make([]string, len(shape))
	for i, d := range shape {
		words[i] = fmt.Sprint(d)
	}
	return strings.Join(words, "×")
}

// An origin is what a tensor depends on.
type origin uint8

const (
	fromImage origin = 1 << iota
	fromOther        // another input: the words of a network of images and texts
)

// A chooser determines the embedding, in the same way for every runtime.
type chooser struct {
	nodes         []*onnx.Node // sorted
	outputs       []onnx.ValueInfo
	height, width int // of the image
	makers        map[string]*onnx.Node
	from          map[string]origin // constants are in neither map
	// shape returns the shape of a tensor for one image.
	shape func(name string) ([]int, error)
	// lenient lets the choice be made without shapes that are not known; skipped says that
	// it was. Size and pooling may then be missing.
	lenient, skipped bool
}

// known is shape for who can do without it: nil where it is not known.
func (c *chooser) shapeIfKnown(name string) ([]int, error) {
	shape, err := c.shape(name)
	if unknown := (errUnknownShape{}); c.lenient && errors.As(err, &unknown) {
		c.skipped = true
		return nil, nil
	}
	return shape, err
}

// newChooser takes a graph's sorted nodes. Inputs other than the image are those that are
// no constants.
func newChooser(nodes []*onnx.Node, outputs []onnx.ValueInfo, image string, others []string) *chooser {
	c := &chooser{nodes: nodes, outputs: outputs, makers: map[string]*onnx.Node{}, from: map[string]origin{image: fromImage}}
	for _, name := range others {
		c.from[name] = fromOther
	}
	for _, n := range nodes {
		var from origin
		for _, name := range n.Reads() {
			from |= c.from[name]
		}
		for _, name := range n.Out {
			if name != "" {
				c.from[name], c.makers[name] = from, n
			}
		}
	}
	return c
}

// choose determines the embedding: the tensor that was asked for, or the one that the
// graph's names and structure show.
//
//	a tensor named embedding                             that one
//	an output of one vector, named embed…, features, …   that one
//	outputs that are classes or their probabilities      what the classifier takes
//	the only output of one vector                        that one
//	an output of tokens or a feature map                 that one, pooled
//	outputs that compare images with texts               the image's side of it
//
// Whatever fits none of these is refused: a wrong embedding looks like a right one.
func (c *chooser) choose(asked, pool string) (Choice, error) {
	if pool != "" && pool != PoolClass && pool != PoolMean {
		return Choice{}, fmt.Errorf("no pooling %.40q; there are %s and %s", pool, PoolClass, PoolMean)
	}
	name, reason := asked, "as asked for"
	if asked == "" {
		var err error
		if name, reason, err = c.byDefault(); err != nil {
			return Choice{}, err
		}
	}
	if c.makers[name] == nil {
		return Choice{}, c.advise(fmt.Errorf("it has no tensor %.80q to take as the embedding", name))
	}
	switch c.from[name] {
	case fromImage:
	case fromImage | fromOther:
		return Choice{}, c.advise(fmt.Errorf("its tensor %.80q cannot be the embedding: it depends on more than the image", name))
	default:
		return Choice{}, c.advise(fmt.Errorf("its tensor %.80q cannot be the embedding: it does not depend on the image", name))
	}
	return c.complete(name, reason, pool)
}

// advise adds which outputs there are.
func (c *chooser) advise(err error) error {
	var names []string
	for _, o := range c.outputs {
		if c.from[o.Name] == fromImage && len(names) < 10 {
			names = append(names, fmt.Sprintf("%.80q", o.Name))
		}
	}
	if len(names) == 0 {
		return err
	}
	return hint.Add(err, "name a tensor with --embedding; outputs are %s", strings.Join(names, ", "))
}

// byDefault finds the tensor, and says why.
func (c *chooser) byDefault() (name, reason string, err error) {
	if len(c.outputs) == 0 {
		return "", "", errors.New("it has no output")
	}
	if c.from[defaultEmbedding] == fromImage && c.makers[defaultEmbedding] != nil {
		return defaultEmbedding, "a tensor of that name", nil
	}
	vectors, classes, others, err := c.sortOutputs()
	if err != nil {
		return "", "", err
	}
	if name := bestName(vectors); name != "" {
		return name, "the output of that name", nil
	}
	switch {
	case len(vectors) == 1 && len(c.outputs) == 1:
		return vectors[0], "the only output", nil
	case len(vectors) == 1:
		return vectors[0], "the only output that is one vector", nil
	case len(vectors) > 1:
		return "", "", c.advise(errors.New("several of its outputs may be the embedding"))
	case len(classes) > 0:
		return c.beforeClassifier(classes[0])
	}
	if name := bestName(others); name != "" {
		return name, "the output of that name", nil
	}
	switch {
	case len(others) == 1 && len(c.outputs) == 1:
		return others[0], "the only output", nil
	case len(others) == 1:
		return others[0], "the only output of the image alone", nil
	case len(others) > 1:
		return "", "", c.advise(errors.New("several of its outputs may be the embedding"))
	}
	if c.skipped && len(c.outputs) == 1 {
		return c.outputs[0].Name, "the only output", nil
	}
	if name, err := c.beforeTextProduct(); name != "" || err != nil {
		return name, "the image's side of the comparison with texts", err
	}
	return "", "", c.advise(errors.New("none of its outputs shows what the embedding is"))
}

// sortOutputs divides the outputs of the image into vectors, classes (their logits or
// probabilities), and tokens or feature maps.
func (c *chooser) sortOutputs() (vectors, classes, others []string, err error) {
	const most = 256 // each may have to be computed to see its shape
	if len(c.outputs) > most {
		return nil, nil, nil, c.advise(fmt.Errorf("it has %d outputs; of up to %d one is chosen", len(c.outputs), most))
	}
	for _, o := range c.outputs {
		if c.from[o.Name] != fromImage {
			continue
		}
		shape, err := c.shapeIfKnown(o.Name)
		if err != nil {
			return nil, nil, nil, err
		}
		if shape == nil {
			if nameRank(o.Name) > nameRank("last_hidden_state") {
				vectors = append(vectors, o.Name)
			}
			continue
		}
		size, flat := vector(shape)
		switch {
		case flat && size < 2: // a score
		case flat && (nameRank(o.Name) == 0 && c.areClasses(o.Name, size)):
			classes = append(classes, o.Name)
		case flat && size <= maxEmbedding:
			vectors = append(vectors, o.Name)
		case !flat && (len(shape) == 3 || len(shape) == 4) && !c.isAttention(o.Name):
			others = append(others, o.Name)
		}
	}
	return vectors, classes, others, nil
}

// isAttention reports whether a tensor is a table of weights: the result of a softmax that
// is no vector.
func (c *chooser) isAttention(name string) bool {
	l, _ := c.lastLayer(name)
	return l.softmax
}

// vector reports whether a shape is that of one vector, such as 1×512 or 1×512×1×1, and its length.
func vector(shape []int) (size int, flat bool) {
	size, wide := 1, 0
	for _, d := range shape {
		if d != 1 {
			size, wide = d, wide+1
		}
	}
	return size, wide <= 1 && len(shape) > 0 && (len(shape) == 1 || shape[0] == 1)
}

// goodNames are parts of the names of outputs, the best first.
var goodNames = []string{"image_embed", "embed", "feat", "pooler", "pooled", "last_hidden"}

// exactNames are the usual ones, which go before others with the same part.
var exactNames = []string{"image_embeds", "image_embedding", "embedding", "embeddings", "features", "image_features", "pooler_output", "last_hidden_state"}

// nameRank ranks an output by its name; 0 stands for a name that says nothing.
func nameRank(name string) int {
	name = strings.ToLower(name)
	for _, word := range []string{"text", "patch", "position", "token"} {
		if strings.Contains(name, word) {
			return 0
		}
	}
	for i, word := range goodNames {
		if strings.Contains(name, word) {
			rank := 2 * (len(goodNames) - i)
			if slices.Contains(exactNames, name) {
				rank++
			}
			return rank
		}
	}
	return 0
}

// best returns the output with the best name; "" if no name is good, or several are alike,
// as those of a pyramid of feature maps.
func bestName(names []string) string {
	found, rank := "", 0
	for _, name := range names {
		switch r := nameRank(name); {
		case r > rank:
			found, rank = name, r
		case r == rank:
			found = ""
		}
	}
	return found
}

// settle completes a choice by the tensor's shape.
func (c *chooser) complete(name, reason, pool string) (Choice, error) {
	shape, err := c.shapeIfKnown(name)
	if err != nil {
		return Choice{}, err
	}
	if shape == nil {
		return Choice{Name: name, Reason: reason}, nil
	}
	choice := Choice{Name: name, Shape: slices.Clone(shape), Reason: reason}
	p, err := poolingOf(shape, name, pool, c.height, c.width)
	if err == nil && (p.size < 1 || p.size > maxEmbedding) {
		err = fmt.Errorf("it would have %d values, and no embedding has more than %d", p.size, maxEmbedding)
	}
	if err != nil {
		return Choice{}, c.advise(fmt.Errorf("its tensor %.80q of shape %s cannot be the embedding: %w", name, formatShape(shape), err))
	}
	choice.Size, choice.Pool = p.size, p.kind
	if p.what != "" {
		choice.Reason += "; " + p.what
	}
	return choice, nil
}
