package query

import (
	"math"
	"slices"
	"sort"
	"strings"

	"cpar/photo/metadata"
	"cpar/user/album/catalogue"
)

type Index struct {
	photos   []*catalogue.Photo
	keywords []keyword
	// tokens lists the distinct tokens of all keywords, sorted.
	tokens []string
	// having[i] lists the positions of the keywords that contain tokens[i].
	having [][]int
	// folders and cameras map folded names to positions in photos.
	folders, cameras map[string][]int32
}

type keyword struct {
	tokens []string
	rows   []int32 // positions in Index.photos
}

// NewIndex indexes the rows for which function keep returns true.
func NewIndex(photos []*catalogue.Photo, keep func(*catalogue.Photo) bool) *Index {
	x := &Index{folders: map[string][]int32{}, cameras: map[string][]int32{}}
	byWord, byToken := map[string]int{}, map[string][]int{}
	folded := map[string]string{}
	fold := func(s string) string {
		f, ok := folded[s]
		if !ok {
			f = metadata.Fold(s)
			folded[s] = f
		}
		return f
	}
	for _, p := range photos {
		if !keep(p) {
			continue
		}
		row := int32(len(x.photos))
		x.photos = append(x.photos, p)
		x.folders[fold(p.Folder)] = append(x.folders[fold(p.Folder)], row)
		x.cameras[fold(p.Camera)] = append(x.cameras[fold(p.Camera)], row)
		for _, k := range p.Keywords {
			at, ok := byWord[k.Word]
			if !ok {
				at = len(x.keywords)
				byWord[k.Word] = at
				x.keywords = append(x.keywords, keyword{tokens: tokens(k.Word)})
				for _, t := range x.keywords[at].tokens {
					if list := byToken[t]; len(list) == 0 || list[len(list)-1] != at {
						byToken[t] = append(list, at)
					}
				}
			}
			x.keywords[at].rows = append(x.keywords[at].rows, row)
		}
	}
	for t := range byToken {
		x.tokens = append(x.tokens, t)
	}
	slices.Sort(x.tokens)
	for _, t := range x.tokens {
		x.having = append(x.having, byToken[t])
	}
	return x
}

// Find returns the rows that match a query, in the order given to NewIndex.
func (x *Index) Find(q Query) []*catalogue.Photo {
	var out []*catalogue.Photo
	for i, found := range x.eval(q.root) {
		if found {
			out = append(out, x.photos[i])
		}
	}
	return out
}

// eval reports for every row whether it matches node n of a query.
func (x *Index) eval(n node) []bool {
	set := make([]bool, len(x.photos))
	mark := func(rows []int32) {
		for _, r := range rows {
			set[r] = true
		}
	}
	each := func(found func(*catalogue.Photo) bool) {
		for i, p := range x.photos {
			set[i] = found(p)
		}
	}
	switch n := n.(type) {
	case allOf:
		for i := range set {
			set[i] = true
		}
		for _, part := range n.of {
			for i, found := range x.eval(part) {
				set[i] = set[i] && found
			}
		}
	case anyOf:
		for _, part := range n.of {
			for i, found := range x.eval(part) {
				set[i] = set[i] || found
			}
		}
	case noneOf:
		for i, found := range x.eval(n.of) {
			set[i] = !found
		}
	case words:
		for _, at := range x.candidates(n) {
			if n.in(x.keywords[at].tokens) {
				mark(x.keywords[at].rows)
			}
		}
	case folder:
		for f, rows := range x.folders {
			if n.has(f) {
				mark(rows)
			}
		}
	case camera:
		for c, rows := range x.cameras {
			if strings.Contains(c, string(n)) {
				mark(rows)
			}
		}
	case dates:
		each(n.has)
	case place:
		each(n.has)
	case name:
		each(n.has)
	case path:
		each(n.has)
	}
	return set
}

// candidates returns the positions of keywords that contain a phrase's first token.
func (x *Index) candidates(n words) (list []int) {
	first := n.tokens[0]
	from := sort.SearchStrings(x.tokens, first)
	for i := from; i < len(x.tokens); i++ {
		if x.tokens[i] != first && !(n.begun && len(n.tokens) == 1 && strings.HasPrefix(x.tokens[i], first)) {
			break
		}
		list = append(list, x.having[i]...)
	}
	return list
}

// in reports whether the tokens of a keyword contain the phrase.
func (n words) in(keyword []string) bool {
	last := len(n.tokens) - 1
	for i := 0; i+last < len(keyword); i++ {
		end := keyword[i+last] == n.tokens[last] || n.begun && strings.HasPrefix(keyword[i+last], n.tokens[last])
		if end && slices.Equal(keyword[i:i+last], n.tokens[:last]) {
			return true
		}
	}
	return false
}

func (n folder) has(folded string) bool {
	return folded == string(n) || strings.HasPrefix(folded, string(n)+"/")
}

// has reports false for a photo without a date.
func (n dates) has(p *catalogue.Photo) bool {
	return p.Time != 0 && p.Time >= n.from && p.Time < n.to
}

func (n name) has(p *catalogue.Photo) bool {
	return strings.Contains(fold(p.Name), string(n))
}

func (n path) has(p *catalogue.Photo) bool {
	return strings.HasSuffix(string(n), p.Name) && p.Path() == string(n)
}

// fold returns metadata.Fold of s, faster for ASCII.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return metadata.Fold(s)
		}
	}
	return strings.TrimSpace(strings.ToLower(s))
}

// earth is the earth's mean radius in kilometres.
const earth = 6371

// has compares the distance by the haversine formula.
func (n place) has(p *catalogue.Photo) bool {
	if p.Place == nil {
		return false
	}
	const degree = math.Pi / 180
	lat, lon := float64(p.Place.Lat)/1e5*degree, float64(p.Place.Lon)/1e5*degree
	a, b := math.Sin((lat-n.lat*degree)/2), math.Sin((lon-n.lon*degree)/2)
	h := a*a + math.Cos(lat)*math.Cos(n.lat*degree)*b*b
	return 2*earth*math.Asin(math.Sqrt(min(h, 1))) <= n.km
}
