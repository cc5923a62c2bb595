package encoder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

// maxEmbedding is the maximum number of values in an embedding. Among the
// common networks, VGG has the longest embedding.
const maxEmbedding = 4096

// defaultEmbedding is the tensor name that takes precedence over all others.
const defaultEmbedding = "embedding"

// A Choice is the tensor that serves as a network's embedding.
type Choice struct {
	Name   string
	Shape  []int  // for one image
	Size   int    // number of values of the embedding, after pooling
	Pool   string // PoolClass or PoolMean, or "" if the tensor is already a vector
	Reason string // why this tensor was chosen
}

func (c Choice) String() string {
	return fmt.Sprintf("%.80q, %d values (%s; of shape %s)", c.Name, c.Size, c.Reason, formatDims(c.Shape))
}

// An origin is the set of inputs that a tensor depends on.
type origin uint8

const (
	fromImage origin = 1 << iota
	fromOther        // another input, such as the text of an image-text network
)

// A chooser determines which tensor of a graph is the embedding, by the same
// rules for every runtime.
type chooser struct {
	nodes         []*onnx.Node // sorted by dependency
	outputs       []onnx.ValueInfo
	others        []string              // names of the inputs besides the image that are not constants
	height, width int                   // sides of the image in pixels
	makers        map[string]*onnx.Node // the node that computes each tensor
	from          map[string]origin     // the origin of each tensor except constants
	// shape returns the shape of a tensor for one image.
	shape func(name string) ([]int, error)
	// Field `lenient` permits a choice despite unknown shapes. The choice may
	// then lack Size and Pool.
	lenient bool
	// Field `skipped` reports whether a shape was unknown.
	skipped bool
}

// shapeIfKnown returns the shape of a tensor. If c is lenient, an unknown shape
// is nil instead of an error.
func (c *chooser) shapeIfKnown(name string) ([]int, error) {
	shape, err := c.shape(name)
	if unknown := (errUnknownShape{}); c.lenient && errors.As(err, &unknown) {
		c.skipped = true
		return nil, nil
	}
	return shape, err
}

// newChooser returns a chooser for a graph with inputs `image` and `others`.
func newChooser(nodes []*onnx.Node, outputs []onnx.ValueInfo, image string, others []string) *chooser {
	c := &chooser{nodes: nodes, outputs: outputs, others: others, makers: map[string]*onnx.Node{}, from: map[string]origin{image: fromImage}}
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

// choose determines the embedding. It returns the requested tensor, or
// otherwise the first match in this list:
//
//	a tensor named embedding
//	an output that is one vector and named embed…, features, …
//	the classifier's input, if an output holds classes or their probabilities
//	the only output that is one vector
//	an output of tokens or a feature map, pooled
//	the image's operand in a product of images with texts
//
// choose refuses other graphs, because a wrong embedding is hard to notice.
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
		return Choice{}, c.advise(fmt.Errorf("its tensor %.80q cannot be the embedding: it depends on more than the image, %s", name, c.otherInputs()))
	default:
		return Choice{}, c.advise(fmt.Errorf("its tensor %.80q cannot be the embedding: it does not depend on the image", name))
	}
	return c.complete(name, reason, pool)
}

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

func (c *chooser) otherInputs() string {
	names := make([]string, len(c.others))
	for i, name := range c.others {
		names[i] = fmt.Sprintf("%.80q", name)
	}
	return "input " + strings.Join(names, ", ")
}

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
	known := func(name string) []int { shape, _ := c.shape(name); return shape }
	if err := c.otherPurpose(known); err != nil {
		return "", "", err
	}
	if name, reason, err := c.oneOf(vectors, "the only output that is one vector"); name != "" || err != nil {
		return name, reason, err
	}
	if len(classes) > 0 {
		return c.beforeClassifier(classes[0])
	}
	if name, reason, err := c.oneOf(others, "the only output of the image alone"); name != "" || err != nil {
		return name, reason, err
	}
	if c.skipped && len(c.outputs) == 1 {
		return c.outputs[0].Name, "the only output", nil
	}
	if name, err := c.beforeTextProduct(); name != "" || err != nil {
		return name, "the image's side of the comparison with texts", err
	}
	if len(c.others) > 0 && !slices.ContainsFunc(c.outputs, func(o onnx.ValueInfo) bool { return c.from[o.Name] == fromImage }) {
		return "", "", fmt.Errorf("none of its outputs depends on the image alone: it also needs %s", c.otherInputs())
	}
	return "", "", c.advise(errors.New("none of its outputs is recognisable as the embedding"))
}

// oneOf chooses among outputs of one kind. `only` is the reason to report if
// just one of several outputs is of this kind.
func (c *chooser) oneOf(names []string, only string) (name, reason string, err error) {
	switch name := bestName(names); {
	case name != "":
		return name, "the output of that name", nil
	case len(names) > 1:
		return "", "", c.advise(errors.New("several of its outputs may be the embedding"))
	case len(names) == 1 && len(c.outputs) == 1:
		return names[0], "the only output", nil
	case len(names) == 1:
		return names[0], only, nil
	}
	return "", "", nil
}

// sortOutputs divides the outputs that depend on the image alone into vectors,
// classes (logits or probabilities), and others (tokens or feature maps).
func (c *chooser) sortOutputs() (vectors, classes, others []string, err error) {
	const most = 256 // determining a shape may require a run
	if len(c.outputs) > most {
		return nil, nil, nil, c.advise(fmt.Errorf("it has %d outputs; cpar chooses among at most %d", len(c.outputs), most))
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
		case !flat && (len(shape) == 3 || len(shape) == 4):
			if l, _ := c.lastLayer(o.Name); !l.softmax { // a softmax over tokens or a map is attention
				others = append(others, o.Name)
			}
		}
	}
	return vectors, classes, others, nil
}

// vector returns the length of a shape such as 1×512 or 1×512×1×1 and reports
// whether the shape holds one vector.
func vector(shape []int) (size int, flat bool) {
	size, wide := 1, 0
	for _, d := range shape {
		if d != 1 {
			size, wide = d, wide+1
		}
	}
	return size, wide <= 1 && len(shape) > 0 && (len(shape) == 1 || shape[0] == 1)
}

var goodNames = []string{"image_embed", "embed", "feat", "pooler", "pooled", "last_hidden"}

// exactNames rank above other names with the same word of goodNames.
var exactNames = []string{"image_embeds", "image_embedding", "embedding", "embeddings", "features", "image_features", "pooler_output", "last_hidden_state"}

// nameRank ranks an output by its name. An uninformative name has rank 0.
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

// bestName returns the output whose name ranks highest. It returns "" if no
// name is informative, or if several share the highest rank, as in a pyramid of
// feature maps.
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
		return Choice{}, c.advise(fmt.Errorf("its tensor %.80q of shape %s cannot be the embedding: %w", name, formatDims(shape), err))
	}
	choice.Size, choice.Pool = p.size, p.kind
	if p.what != "" {
		choice.Reason += "; " + p.what
	}
	return choice, nil
}
