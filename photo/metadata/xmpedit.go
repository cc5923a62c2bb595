package metadata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beevik/etree"
)

// A property identifies a list in XMP that this program writes.
type property struct{ ns, prefix, name, kind string }

var (
	subject      = property{nsDC, "dc", "subject", "Bag"}
	hierarchical = property{nsLightroom, "lr", "hierarchicalSubject", "Bag"}
	tagsList     = property{nsDigiKam, "digiKam", "TagsList", "Seq"}
	ownWords     = property{nsOwn, "cpar", "Words", "Bag"}
	ownAccepted  = property{nsOwn, "cpar", "Accepted", "Bag"}
	ownRejected  = property{nsOwn, "cpar", "Rejected", "Bag"}
	ownGiven     = property{nsOwn, "cpar", "Given", "Bag"}
	ownCopied    = property{nsOwn, "cpar", "Copied", "Bag"}
	ownRun       = property{nsOwn, "cpar", "Run", ""}
)

func (pr property) String() string { return pr.prefix + ":" + pr.name }

// toolkit marks packets created by this program.
const toolkit = "cpar"

func newPacket() *packet {
	p, err := parsePacket([]byte("<?xpacket begin=\"\ufeff\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n" +
		"<x:xmpmeta xmlns:x=\"" + nsMeta + "\" x:xmptk=\"" + toolkit + "\">\n" +
		" <rdf:RDF xmlns:rdf=\"" + nsRDF + "\">\n" +
		"  <rdf:Description rdf:about=\"\"/>\n" +
		" </rdf:RDF>\n" +
		"</x:xmpmeta>\n" +
		"<?xpacket end=\"w\"?>"))
	if err != nil {
		panic(err) // the input is constant
	}
	return p
}

func (p *packet) isOwnAndEmpty() bool {
	meta := p.rdf.Parent()
	if meta == nil {
		return false
	}
	if i, ok := p.attr(meta, nsMeta, "xmptk"); !ok || meta.Attr[i].Value != toolkit {
		return false
	}
	for e := range p.rdf.ChildElementsSeq() {
		if !p.is(e, nsRDF, "Description") || len(e.ChildElements()) > 0 {
			return false
		}
		for _, a := range e.Attr {
			if a.Space != "xmlns" && p.uri(e, a.Space) != nsRDF {
				return false
			}
		}
	}
	return true
}

// find returns the elements that hold a property, and the descriptions that
// hold it as an attribute.
func (p *packet) find(pr property) (elements []*etree.Element, attributes []*etree.Element) {
	for _, d := range p.descriptions() {
		if _, ok := p.attr(d, pr.ns, pr.name); ok {
			attributes = append(attributes, d)
		}
		for e := range d.ChildElementsSeq() {
			if p.is(e, pr.ns, pr.name) {
				elements = append(elements, e)
			}
		}
	}
	return elements, attributes
}

func (p *packet) has(pr property) bool {
	elements, attributes := p.find(pr)
	return len(elements)+len(attributes) > 0
}

func (p *packet) list(pr property) []string {
	elements, attributes := p.find(pr)
	var values []string
	for _, d := range attributes {
		i, _ := p.attr(d, pr.ns, pr.name)
		values = append(values, strings.TrimSpace(d.Attr[i].Value))
	}
	for _, e := range elements {
		values = append(values, p.values(e)...)
	}
	return values
}

func (p *packet) append(pr property, values ...string) (added []string) {
	standing := p.list(pr)
	for _, v := range values {
		if !slices.Contains(standing, v) {
			standing = append(standing, v)
			added = append(added, v)
		}
	}
	if len(added) == 0 {
		return nil
	}
	list := p.ensureList(pr)
	for _, v := range added {
		li := etree.NewElement(list.Space + ":li")
		li.SetText(v)
		insert(list, li)
	}
	return added
}

// ensureList returns the list of a property. If necessary, it makes one, and
// moves a single value into it.
func (p *packet) ensureList(pr property) *etree.Element {
	elements, attributes := p.find(pr)
	for _, e := range elements {
		if list := p.container(e); list != nil {
			return list
		}
	}
	rdf := p.rdf.Space + ":"
	list := etree.NewElement(rdf + pr.kind)
	if len(elements) > 0 { // the single value becomes the first element and keeps its qualifiers
		e := elements[0]
		li := etree.NewElement(rdf + "li")
		for _, a := range e.Attr {
			if a.Space != "xmlns" {
				li.Attr = append(li.Attr, a)
			}
		}
		e.Attr = slices.DeleteFunc(e.Attr, func(a etree.Attr) bool { return a.Space != "xmlns" })
		for _, c := range slices.Clone(e.Child) {
			li.AddChild(c)
		}
		insert(e, list)
		if p.text(li) != "" {
			insert(list, li)
		}
		return list
	}
	d := p.descriptionFor(pr, attributes)
	e := etree.NewElement(p.prefix(d, pr) + ":" + pr.name)
	insert(d, e)
	insert(e, list)
	if i, ok := p.attr(d, pr.ns, pr.name); ok {
		li := etree.NewElement(rdf + "li")
		li.SetText(d.Attr[i].Value)
		d.Attr = slices.Delete(d.Attr, i, i+1)
		insert(list, li)
	}
	return list
}

// descriptionFor returns the description for a new property: the first that has
// the property as an attribute, otherwise the first, otherwise a new
// description.
func (p *packet) descriptionFor(pr property, attributes []*etree.Element) *etree.Element {
	if len(attributes) > 0 {
		return attributes[0]
	}
	if all := p.descriptions(); len(all) > 0 {
		return all[0]
	}
	d := etree.NewElement(p.rdf.Space + ":Description")
	d.Attr = append(d.Attr, etree.Attr{Space: p.rdf.Space, Key: "about"})
	insert(p.rdf, d)
	return d
}

// prefix returns the prefix of the property's namespace in the scope of d, and
// declares it if necessary.
func (p *packet) prefix(d *etree.Element, pr property) string {
	for e := d; e != nil; e = e.Parent() {
		for _, a := range e.Attr {
			if a.Space == "xmlns" && a.Value == pr.ns && p.uri(d, a.Key) == pr.ns {
				return a.Key
			}
		}
	}
	prefix := pr.prefix
	for n := 1; p.uri(d, prefix) != ""; n++ {
		prefix = fmt.Sprintf("%s%d", pr.prefix, n)
	}
	d.Attr = append(d.Attr, etree.Attr{Space: "xmlns", Key: prefix, Value: pr.ns})
	p.declared(d, prefix, pr.ns)
	return prefix
}

func (p *packet) remove(pr property, drop func(string) bool) (removed []string) {
	elements, attributes := p.find(pr)
	for _, d := range attributes {
		if i, _ := p.attr(d, pr.ns, pr.name); drop(strings.TrimSpace(d.Attr[i].Value)) {
			removed = append(removed, strings.TrimSpace(d.Attr[i].Value))
			d.Attr = slices.Delete(d.Attr, i, i+1)
		}
	}
	for _, e := range elements {
		list := p.container(e)
		if list == nil {
			if v := p.text(e); drop(v) {
				removed = append(removed, v)
				removeElement(e)
			}
			continue
		}
		before := len(removed)
		for _, li := range p.members(list) {
			if v := p.text(li); drop(v) {
				removed = append(removed, v)
				removeElement(li)
			}
		}
		if len(removed) > before && len(p.members(list)) == 0 {
			removeElement(e)
		}
	}
	if len(removed) > 0 && pr.ns == nsOwn {
		p.removeOwnNamespace()
	}
	return removed
}

// setText sets the value of a simple property. An empty value removes it.
func (p *packet) setText(pr property, value string) {
	p.remove(pr, func(string) bool { return true })
	if value == "" {
		return
	}
	d := p.descriptionFor(pr, nil)
	e := etree.NewElement(p.prefix(d, pr) + ":" + pr.name)
	e.SetText(value)
	insert(d, e)
}

func (p *packet) removeOwnNamespace() {
	for _, d := range p.descriptions() {
		used := slices.ContainsFunc(d.Attr, func(a etree.Attr) bool { return a.Space != "" && a.Space != "xmlns" && p.uri(d, a.Space) == nsOwn })
		for e := range d.ChildElementsSeq() {
			used = used || p.uri(e, e.Space) == nsOwn
		}
		if !used {
			d.Attr = slices.DeleteFunc(d.Attr, func(a etree.Attr) bool {
				own := a.Space == "xmlns" && a.Value == nsOwn
				if own {
					delete(p.scopes[d], a.Key)
				}
				return own
			})
		}
	}
}

func insert(parent, child *etree.Element) {
	children := parent.ChildElements()
	if len(children) == 0 {
		for _, c := range slices.Clone(parent.Child) {
			if text, ok := c.(*etree.CharData); ok && blank(text) {
				parent.RemoveChild(c)
			}
		}
		if outer := precedingSpace(parent); strings.Contains(outer, "\n") {
			parent.AddChild(etree.NewText(outer + indent(parent)))
			parent.AddChild(child)
			parent.AddChild(etree.NewText(outer))
			return
		}
		parent.AddChild(child)
		return
	}
	last := children[len(children)-1]
	at := last.Index() + 1
	if s := precedingSpace(last); s != "" {
		parent.InsertChildAt(at, etree.NewText(s))
		at++
	}
	parent.InsertChildAt(at, child)
}

// removeElement removes e and the white space before it, and the parent's white
// space if e was the only child.
func removeElement(e *etree.Element) {
	parent := e.Parent()
	if at := e.Index(); precedingSpace(e) != "" {
		parent.RemoveChildAt(at - 1)
	}
	parent.RemoveChild(e)
	if len(parent.ChildElements()) == 0 && strings.TrimSpace(parent.Text()) == "" {
		for len(parent.Child) > 0 {
			if c, ok := parent.Child[0].(*etree.CharData); !ok || !blank(c) {
				return
			}
			parent.RemoveChildAt(0)
		}
	}
}

func precedingSpace(e *etree.Element) string {
	if e.Parent() == nil || e.Index() == 0 {
		return ""
	}
	if c, ok := e.Parent().Child[e.Index()-1].(*etree.CharData); ok && blank(c) {
		return c.Data
	}
	return ""
}

func indent(e *etree.Element) string {
	if e.Parent() != nil {
		if rest, ok := strings.CutPrefix(precedingSpace(e), precedingSpace(e.Parent())); ok && strings.Trim(rest, " \t") == "" && rest != "" {
			return rest
		}
	}
	return " "
}

func blank(c *etree.CharData) bool { return strings.TrimSpace(c.Data) == "" }
