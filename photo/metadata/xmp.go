package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/beevik/etree"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

const (
	nsRDF        = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	nsMeta       = "adobe:ns:meta/"
	nsNote       = "http://ns.adobe.com/xmp/note/"
	nsDC         = "http://purl.org/dc/elements/1.1/"
	nsLightroom  = "http://ns.adobe.com/lightroom/1.0/"
	nsDigiKam    = "http://www.digikam.org/ns/1.0/"
	nsMicrosoft  = "http://ns.microsoft.com/photo/1.0/"
	nsMicrosoft0 = "http://ns.microsoft.com/photo/1.0"
	nsMediaPro   = "http://ns.iview-multimedia.com/mediapro/1.0/"
	nsACDSee     = "http://ns.acdsee.com/iptc/1.0/"
	nsPersons    = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
	nsRegions    = "http://www.metadataworkinggroup.com/schemas/regions/"
	nsMPRegions  = "http://ns.microsoft.com/photo/1.2/"
	nsMPRegion   = "http://ns.microsoft.com/photo/1.2/t/Region#"
	nsOwn        = "urn:cpar:xmp:1.0/"
)

// These are limits of an XMP packet. A parsed tag takes some hundred bytes, so
// tags are counted before parsing.
const (
	maxXMP      = 32 << 20
	maxXMPTags  = 200_000
	maxXMPDepth = 64
)

type packet struct {
	doc      *etree.Document
	encoding encoding.Encoding
	rdf      *etree.Element
	scopes   map[*etree.Element]map[string]string // declared namespaces by prefix
}

func parsePacket(data []byte) (*packet, error) {
	if len(data) > maxXMP {
		return nil, fmt.Errorf("it is larger than %d MiB", maxXMP>>20)
	}
	text, f, err := decodeForm(bytes.TrimRight(data, "\x00"))
	if err != nil {
		return nil, err
	}
	if bytes.Count(text, []byte("<")) > maxXMPTags {
		return nil, fmt.Errorf("it has more than %d tags", maxXMPTags)
	}
	p := &packet{doc: etree.NewDocument(), encoding: f, scopes: map[*etree.Element]map[string]string{}}
	p.doc.ReadSettings = etree.ReadSettings{PreserveCData: true, PreserveDuplicateAttrs: true, MaxDepth: maxXMPDepth}
	// Escape characters that readers would normalise as white space.
	p.doc.WriteSettings = etree.WriteSettings{CanonicalText: true, CanonicalAttrVal: true}
	if err := p.doc.ReadFromBytes(text); err != nil {
		return nil, fmt.Errorf("its XML is damaged: %w", err)
	}
	if err := p.index(&p.doc.Element); err != nil {
		return nil, err
	}
	if p.rdf == nil {
		return nil, errors.New("it holds no rdf:RDF")
	}
	return p, nil
}

func (p *packet) index(e *etree.Element) error {
	names := make(map[[2]string]bool, len(e.Attr))
	for _, a := range e.Attr {
		if names[[2]string{a.Space, a.Key}] {
			return fmt.Errorf("its XML is damaged: an attribute is repeated")
		}
		names[[2]string{a.Space, a.Key}] = true
		if a.Space == "xmlns" {
			p.declared(e, a.Key, a.Value)
		} else if a.Space == "" && a.Key == "xmlns" {
			p.declared(e, "", a.Value)
		}
	}
	if p.rdf == nil && p.is(e, nsRDF, "RDF") {
		p.rdf = e
	}
	for c := range e.ChildElementsSeq() {
		if err := p.index(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *packet) declared(e *etree.Element, prefix, uri string) {
	if p.scopes[e] == nil {
		p.scopes[e] = map[string]string{}
	}
	p.scopes[e][prefix] = uri
}

func (p *packet) uri(e *etree.Element, prefix string) string {
	for ; e != nil; e = e.Parent() {
		if uri, ok := p.scopes[e][prefix]; ok {
			return uri
		}
	}
	return ""
}

func (p *packet) is(e *etree.Element, ns, name string) bool {
	return e.Tag == name && p.uri(e, e.Space) == ns
}

// attr finds an attribute by namespace. Attributes without a prefix have no
// namespace.
func (p *packet) attr(e *etree.Element, ns, name string) (int, bool) {
	for i, a := range e.Attr {
		if a.Key == name && a.Space != "" && a.Space != "xmlns" && p.uri(e, a.Space) == ns {
			return i, true
		}
	}
	return 0, false
}

func (p *packet) descriptions() []*etree.Element {
	var found []*etree.Element
	for e := range p.rdf.ChildElementsSeq() {
		if p.is(e, nsRDF, "Description") {
			found = append(found, e)
		}
	}
	return found
}

func (p *packet) container(property *etree.Element) *etree.Element {
	for e := range property.ChildElementsSeq() {
		if p.is(e, nsRDF, "Bag") || p.is(e, nsRDF, "Seq") || p.is(e, nsRDF, "Alt") {
			return e
		}
	}
	return nil
}

// members returns the elements of a list: rdf:li, or rdf:_1, rdf:_2 and so on.
func (p *packet) members(list *etree.Element) []*etree.Element {
	var found []*etree.Element
	for e := range list.ChildElementsSeq() {
		if (e.Tag == "li" || strings.HasPrefix(e.Tag, "_")) && p.uri(e, e.Space) == nsRDF {
			found = append(found, e)
		}
	}
	return found
}

func (p *packet) text(e *etree.Element) string {
	for range 3 { // rdf:value may be nested
		for _, name := range []string{"resource", "value"} {
			if i, ok := p.attr(e, nsRDF, name); ok {
				return strings.TrimSpace(e.Attr[i].Value)
			}
		}
		var inner *etree.Element
		for c := range e.ChildElementsSeq() {
			if p.is(c, nsRDF, "value") || p.is(c, nsRDF, "Description") {
				inner = c
				break
			}
		}
		if inner == nil {
			break
		}
		e = inner
	}
	return strings.TrimSpace(e.Text())
}

func (p *packet) values(property *etree.Element) []string {
	var found []string
	members := []*etree.Element{property}
	if list := p.container(property); list != nil {
		members = p.members(list)
	}
	for _, li := range members {
		if v := p.text(li); v != "" {
			found = append(found, v)
		}
	}
	return found
}

func (p *packet) bytes() ([]byte, error) {
	text, err := p.doc.WriteToBytes()
	if err != nil {
		return nil, fmt.Errorf("writing XMP: %w", err)
	}
	return p.encoding.NewEncoder().Bytes(text)
}

// A form is an encoding of packets and the first bytes that identify it.
type form struct {
	start string
	encoding.Encoding
}

// forms end with the default. Encodings with a byte order mark remove it and
// write it again.
var forms = []form{
	{"\xef\xbb\xbf", unicode.UTF8BOM},
	{"\xff\xfe\x00\x00", nil}, // UTF-32
	{"\x00\x00\xfe\xff", nil},
	{"\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
	{"\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
	{"<\x00", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{"\x00<", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{"", unicode.UTF8},
}

// decodeForm converts a packet to UTF-8 without a byte order mark.
func decodeForm(data []byte) ([]byte, encoding.Encoding, error) {
	f := forms[slices.IndexFunc(forms, func(f form) bool { return bytes.HasPrefix(data, []byte(f.start)) })].Encoding
	switch f {
	case nil:
		return nil, f, errors.New("it is written in UTF-32")
	case unicode.UTF8, unicode.UTF8BOM:
		if !utf8.Valid(data) {
			return nil, f, errors.New("it is not UTF-8")
		}
	default:
		// Removing the padding may have removed the last zero byte of UTF-16
		// text.
		if len(data)%2 == 1 {
			data = append(slices.Clip(data), 0)
		}
	}
	text, err := f.NewDecoder().Bytes(data)
	return text, f, err
}
