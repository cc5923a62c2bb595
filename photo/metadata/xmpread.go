package metadata

import (
	"bytes"
	"strings"

	"github.com/beevik/etree"
)

// lists maps the properties that hold keywords to their parsers.
var lists = map[[2]string]func(s *source, values []string){
	{nsDC, "subject"}:                    flat,
	{nsACDSee, "keywords"}:               flat,
	{nsLightroom, "hierarchicalSubject"}: hierarchy("|"),
	{nsDigiKam, "TagsList"}:              hierarchy("/"),
	{nsMicrosoft, "LastKeywordXMP"}:      hierarchy("/"),
	{nsMicrosoft, "LastKeywordIPTC"}:     hierarchy("/"),
	{nsMediaPro, "CatalogSets"}:          hierarchy("|"),
	{nsACDSee, "categories"}: func(s *source, values []string) {
		for _, v := range values {
			s.paths = append(s.paths, acdseeCategories(v)...)
		}
	},
	{nsMediaPro, "People"}:       func(s *source, v []string) { s.people = append(s.people, v...) },
	{nsPersons, "PersonInImage"}: func(s *source, v []string) { s.people = append(s.people, v...) },
	{nsOwn, "Words"}:             func(s *source, v []string) { s.machine = append(s.machine, v...) },
	{nsOwn, "Accepted"}:          func(s *source, v []string) { s.accepted = append(s.accepted, v...) },
	{nsOwn, "Rejected"}:          func(s *source, v []string) { s.rejected = append(s.rejected, v...) },
	{nsOwn, "Given"}:             func(s *source, v []string) { s.given = append(s.given, v...) },
	{nsOwn, "Copied"}:            func(s *source, v []string) { s.copied = append(s.copied, v...) },
	{nsOwn, "Run"}: func(s *source, v []string) {
		if len(v) > 0 {
			s.run = v[0]
		}
	},
}

func flat(s *source, values []string) { s.flat = append(s.flat, values...) }

func hierarchy(sep string) func(*source, []string) {
	return func(s *source, values []string) {
		for _, v := range values {
			if p := newPath(v, sep); len(p.parts) > 0 {
				s.paths = append(s.paths, p)
			}
		}
	}
}

func (p *packet) read() source {
	var s source
	take := func(ns, name string, values []string) {
		if ns == nsMicrosoft0 {
			ns = nsMicrosoft
		}
		if list := lists[[2]string{ns, name}]; list != nil {
			list(&s, values)
		}
	}
	for _, d := range p.descriptions() {
		for _, a := range d.Attr {
			if a.Space != "" && a.Space != "xmlns" && strings.TrimSpace(a.Value) != "" {
				take(p.uri(d, a.Space), a.Key, []string{strings.TrimSpace(a.Value)})
			}
		}
		for e := range d.ChildElementsSeq() {
			switch ns := p.uri(e, e.Space); {
			case ns == nsRegions && e.Tag == "Regions":
				p.faces(e, nsRegions, "Name", &s)
			case ns == nsMPRegions && e.Tag == "RegionInfo":
				p.faces(e, nsMPRegion, "PersonDisplayName", &s)
			default:
				take(ns, e.Tag, p.values(e))
			}
		}
	}
	return s
}

// faces collects the names of face regions. It ignores regions of other types,
// such as barcodes and pets.
func (p *packet) faces(e *etree.Element, ns, name string, s *source) {
	if n := p.field(e, ns, name); n != "" {
		if t := p.field(e, ns, "Type"); t == "" || strings.EqualFold(t, "face") {
			s.people = append(s.people, n)
		}
	}
	for c := range e.ChildElementsSeq() {
		p.faces(c, ns, name, s)
	}
}

func (p *packet) field(e *etree.Element, ns, name string) string {
	if i, ok := p.attr(e, ns, name); ok {
		return strings.TrimSpace(e.Attr[i].Value)
	}
	for c := range e.ChildElementsSeq() {
		if p.is(c, ns, name) {
			return p.text(c)
		}
	}
	return ""
}

// acdseeCategories parses ACDSee's tree, which is XML within a text:
//
//	<Categories><Category Assigned="0">Places<Category Assigned="1">Rome</Category></Category></Categories>
func acdseeCategories(text string) []path {
	if bytes.Count([]byte(text), []byte("<")) > maxXMPTags {
		return nil
	}
	doc := etree.NewDocument()
	doc.ReadSettings.MaxDepth = maxXMPDepth
	if doc.ReadFromString(text) != nil || doc.Root() == nil {
		return nil // digiKam's form, whose words are also in the other lists
	}
	var found []path
	var walk func(e *etree.Element, above []string)
	walk = func(e *etree.Element, above []string) {
		for c := range e.ChildElementsSeq() {
			place := append(above[:len(above):len(above)], strings.TrimSpace(c.Text()))
			if c.SelectAttrValue("Assigned", "") == "1" {
				if p := newPath(strings.Join(place, "|"), "|"); len(p.parts) > 0 {
					found = append(found, p)
				}
			}
			walk(c, place)
		}
	}
	walk(doc.Root(), nil)
	return found
}
