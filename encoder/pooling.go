package encoder

import (
	"errors"
	"fmt"
	"strings"
)

const (
	PoolClass = "class" // the first token, which summarises the image
	PoolMean  = "mean"  // the mean of all tokens
)

// A pooling reduces a tensor to the embedding.
type pooling struct {
	kind string // PoolClass, PoolMean, or "" if the tensor is already a vector
	size int    // number of values of the embedding
	what string // description for the user
	// The shape for `count` tokens or pixels is 1×size×count if channelsFirst
	// is set, otherwise 1×count×size.
	count         int
	channelsFirst bool
}

// poolingOf determines how a tensor becomes a vector. `asked` is Options.Pool,
// and height and width are the image's sides.
func poolingOf(shape []int, name, asked string, height, width int) (pooling, error) {
	if size, flat := vector(shape); flat {
		if asked != "" {
			return pooling{}, fmt.Errorf("it is one vector, and there is nothing to pool by %s", asked)
		}
		return pooling{size: size}, nil
	}
	if shape[0] != 1 {
		return pooling{}, errors.New("its first dimension is not 1")
	}
	switch len(shape) {
	case 3:
		return poolTokens(shape[1], shape[2], name, asked, height, width), nil
	case 4:
		if asked == PoolClass {
			return pooling{}, errors.New("a feature map has no class token")
		}
		return poolMap(shape), nil
	}
	return pooling{}, errors.New("it is neither a vector nor tokens nor a feature map")
}

func poolTokens(tokens, size int, name, asked string, height, width int) pooling {
	p := pooling{kind: asked, size: size, count: tokens}
	if p.kind == "" {
		p.kind, name = PoolMean, strings.ToLower(name)
		if extraTokens(tokens, height, width) > 0 || strings.Contains(name, "cls") || strings.Contains(name, "class_token") {
			p.kind = PoolClass
		}
	}
	p.what = fmt.Sprintf("the mean of %d tokens", tokens)
	if p.kind == PoolClass {
		p.what = fmt.Sprintf("the class token, first of %d", tokens)
	}
	return p
}

// extraTokens returns the number of tokens besides one per patch: 0, 1 (class
// token), 2 (also a distillation token) or 5 (class token and four registers,
// as in DINOv2).
func extraTokens(tokens, height, width int) int {
	for _, extra := range []int{0, 1, 2, 5} {
		if isGrid(tokens-extra, height, width) {
			return extra
		}
	}
	return 0
}

// isGrid reports whether n is a possible number of patches: a square number, or
// the number of square patches of some size that tile the image.
func isGrid(n, height, width int) bool {
	for side := 1; side*side <= n; side++ {
		if side*side == n {
			return true
		}
	}
	if height == width || n < 1 {
		return false
	}
	for patch := 2; patch <= min(height, width); patch++ {
		if (height/patch)*(width/patch) == n {
			return true
		}
	}
	return false
}

// poolMap returns the pooling that takes the mean over the pixels of a feature
// map. For a square image, the two equal sides distinguish 1×C×H×W from
// 1×H×W×C.
func poolMap(shape []int) pooling {
	first := shape[2] == shape[3] || shape[1] != shape[2]
	p := pooling{kind: PoolMean, size: shape[3], count: shape[1] * shape[2], channelsFirst: first}
	height, width := shape[1], shape[2]
	if first {
		height, width = shape[2], shape[3]
		p.size, p.count = shape[1], height*width
	}
	p.what = fmt.Sprintf("the mean over %d×%d pixels", height, width)
	return p
}

func (p pooling) apply(values []float32) ([]float32, error) {
	want := p.size
	if p.kind != "" {
		want *= p.count
	}
	if len(values) != want {
		return nil, fmt.Errorf("the embedding has %d values before pooling instead of %d", len(values), want)
	}
	if p.kind == "" || p.kind == PoolClass {
		return values[:p.size], nil
	}
	out := make([]float32, p.size)
	for i := range out {
		var sum float64
		for k := range p.count {
			if p.channelsFirst {
				sum += float64(values[i*p.count+k])
			} else {
				sum += float64(values[k*p.size+i])
			}
		}
		out[i] = float32(sum / float64(p.count))
	}
	return out, nil
}
