package engine

import (
	"fmt"

	"cpar/encoder/onnx"
)

const maxDepth = 32 // maximum depth of nested graphs and function calls

func compileIf(c *call) error {
	condition := c.given(0)
	var branches [2]*onnx.Graph
	for i, name := range []string{"else_branch", "then_branch"} {
		a := c.attribute(name, onnx.KindGraph)
		if a == nil || a.Graph == nil {
			return fmt.Errorf("it has no %s", name)
		}
		branches[i] = a.Graph
	}
	if !condition.constant() || condition.kind != bools || count(condition.shape) != 1 {
		return onnx.Unsupported("a condition that depends on the input is not supported")
	}
	if c.err != nil {
		return c.err
	}
	which, err := c.intsOf(condition)
	if err != nil {
		return err
	}
	g := branches[which[0]]
	inner := &builder{state: c.state, opset: c.opset, outer: c.builder}
	var outputs []string
	for _, out := range g.Outputs {
		outputs = append(outputs, out.Name)
	}
	if len(g.Inputs) > 0 {
		return fmt.Errorf("a branch has %d inputs", len(g.Inputs))
	}
	return c.enter(inner, g.Nodes, g.Constants, outputs)
}

func (c *call) compileFunction(f *onnx.Function) error {
	if len(c.in) > len(f.In) {
		return fmt.Errorf("it has %d inputs", len(c.in))
	}
	inner := &builder{state: c.state, opset: c.opset, values: map[string]*value{}}
	for i, v := range c.in {
		if v != nil {
			inner.values[f.In[i]] = v
		}
	}
	given := map[string]*onnx.Attribute{}
	for _, a := range f.Defaults {
		given[a.Name] = a
	}
	for _, name := range f.Attributes {
		if a := c.attributes[name]; a != nil {
			given[name] = a
		}
	}
	for name := range given {
		delete(c.attributes, name)
	}
	nodes := make([]*onnx.Node, len(f.Nodes))
	for i, n := range f.Nodes {
		own := *n
		own.Attributes = nil
		for _, a := range n.Attributes {
			if a.Reference == "" {
				own.Attributes = append(own.Attributes, a)
			} else if from := given[a.Reference]; from != nil {
				as := *from
				as.Name = a.Name
				own.Attributes = append(own.Attributes, &as)
			}
		}
		// Clear the names of inputs that the call omits.
		own.In = nil
		for _, name := range n.In {
			for i := len(c.in); i < len(f.In); i++ {
				if f.In[i] == name {
					name = ""
				}
			}
			own.In = append(own.In, name)
		}
		nodes[i] = &own
	}
	return c.enter(inner, nodes, nil, f.Out)
}

// enter compiles the nodes of an inner graph or a function. The node's outputs
// become the values of the inner outputs.
func (c *call) enter(inner *builder, nodes []*onnx.Node, constants []*onnx.Tensor, outputs []string) error {
	if inner.depth++; inner.depth > maxDepth {
		return limitError("graphs are nested more than %d deep", maxDepth)
	}
	defer func() { inner.depth-- }()
	if inner.entered += len(nodes); inner.entered > c.limits.Nodes {
		return limitError("more than the %d nodes accepted", c.limits.Nodes)
	}
	if len(outputs) < len(c.node.Out) {
		return fmt.Errorf("it uses %d outputs of only %d", len(c.node.Out), len(outputs))
	}
	if err := inner.graph(nodes, constants); err != nil {
		return err
	}
	for i, name := range c.node.Out {
		if name == "" {
			continue
		}
		v, err := inner.find(outputs[i])
		if err != nil {
			return err
		}
		c.values[name] = v
	}
	return nil
}

func (b *builder) graph(nodes []*onnx.Node, constants []*onnx.Tensor) error {
	if b.values == nil {
		b.values = map[string]*value{}
	}
	b.failed = map[string]error{}
	for _, t := range constants {
		if b.values[t.Name] != nil || t.Name == "" {
			return fmt.Errorf("initializer %.80q has no unique name", t.Name)
		}
		b.values[t.Name] = constantOf(t.Name, t)
	}
	sorted, err := onnx.Sort(nodes, func(name string) bool {
		v, err := b.lookup(name)
		return v != nil || err != nil
	})
	if err != nil {
		return err
	}
	for _, n := range sorted {
		if err := b.node(n); err != nil {
			return err
		}
	}
	b.sorted = sorted
	return nil
}

// lookup returns a tensor of this graph or an outer graph, or the reason why it
// cannot be computed. Both results are nil for an unknown name.
func (b *builder) lookup(name string) (*value, error) {
	for ; b != nil; b = b.outer {
		if v := b.values[name]; v != nil {
			return v, nil
		}
		if err := b.failed[name]; err != nil {
			return nil, err
		}
	}
	return nil, nil
}
