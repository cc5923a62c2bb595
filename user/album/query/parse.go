// Package query searches the rows of an album's catalogue.
//
//	dog beach 2024 -party ─▶ Parse ─▶ Query ─▶ Index.Find ─▶ rows
//
//	dog                a keyword that contains this word
//	beach*             a keyword with a word that begins with beach
//	"old town"         a keyword with these consecutive words
//	2024, 2024-07      the date of the photo; 2023..2024-05 is a range
//	folder:photos/sea  a folder and all folders below it
//	camera:canon       a part of the camera's name
//	place:48.1,11.6~20 within 20 km of a place (10 km by default)
//	name:img_17        a part of the file's name
//	path:a/b.jpg       exactly this photo
//	a b, a and b       photos that match both
//	a or b             photos that match either ("and" binds more strongly)
//	-a, not a          photos that do not match a
//	( )                groups
//
// Words are compared by metadata.Fold.
package query

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo/metadata"
)

type Query struct{ root node }

// All is the empty query, which every photo matches.
var All = Query{allOf{}}

type node any

type (
	allOf  struct{ of []node }
	anyOf  struct{ of []node }
	noneOf struct{ of node }
	// The type words is a phrase of folded tokens. If `begun` is set, the last token
	// also matches longer tokens that begin with it.
	words struct {
		tokens []string
		begun  bool
	}
	dates  struct{ from, to int64 } // seconds, from ≤ t < to
	folder string
	camera string
	name   string
	path   string
	place  struct{ lat, lon, km float64 }
)

const maxDepth = 100

type parser struct {
	text    string
	at      int
	depth   int
	related func(word string) []string
}

// Parse parses a query. Function related, if not nil, returns other words that a
// word of the query also finds. Errors wrap cpar.ErrInput and name the column.
func Parse(text string, related func(word string) []string) (q Query, err error) {
	if !utf8.ValidString(text) {
		return q, fmt.Errorf("reading the query: %w: it is not UTF-8", cpar.ErrInput)
	}
	p := &parser{text: text, related: related}
	p.space()
	if p.at == len(text) {
		return All, nil
	}
	if q.root, err = p.disjunction(); err != nil {
		return q, err
	}
	if p.at < len(p.text) {
		return q, p.fail(p.at, "there is no ( before this )")
	}
	return q, nil
}

func (p *parser) fail(at int, format string, args ...any) error {
	return hint.Add(fmt.Errorf("reading the query: %w: column %d: %s", cpar.ErrInput, utf8.RuneCountInString(p.text[:at])+1, fmt.Sprintf(format, args...)),
		"cpar album search --help explains queries")
}

func (p *parser) space() {
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

// keyword consumes the operator `word` if it comes next, and reports whether it did.
func (p *parser) keyword(word string) bool {
	rest := p.text[p.at:]
	if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(rest[len(word):]); len(rest) > len(word) && !unicode.IsSpace(r) && r != '(' {
		return false
	}
	p.at += len(word)
	p.space()
	return true
}

func (p *parser) disjunction() (node, error) {
	list := anyOf{}
	for {
		n, err := p.conjunction()
		if err != nil {
			return nil, err
		}
		list.of = append(list.of, n)
		if !p.keyword("or") {
			break
		}
	}
	if len(list.of) == 1 {
		return list.of[0], nil
	}
	return list, nil
}

func (p *parser) conjunction() (node, error) {
	list := allOf{}
	for {
		n, err := p.operand()
		if err != nil {
			return nil, err
		}
		list.of = append(list.of, n)
		if p.keyword("and") {
			continue
		}
		before := p.at
		if or := p.keyword("or"); or || p.at == len(p.text) || p.text[p.at] == ')' {
			p.at = before
			break
		}
	}
	if len(list.of) == 1 {
		return list.of[0], nil
	}
	return list, nil
}

func (p *parser) operand() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.at, "it is nested too deeply")
	}
	defer func() { p.depth-- }()
	start := p.at
	switch {
	case p.at == len(p.text) || p.text[p.at] == ')':
		return nil, p.fail(p.at, "a word is missing")
	case p.keyword("or"), p.keyword("and"):
		return nil, p.fail(start, "a word is missing before %q", strings.TrimSpace(p.text[start:p.at]))
	case p.keyword("not"), p.text[p.at] == '-':
		if p.at == start {
			p.at++
		}
		n, err := p.operand()
		return noneOf{n}, err
	case p.text[p.at] == '(':
		p.at++
		p.space()
		n, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		if p.at == len(p.text) {
			return nil, p.fail(start, "this ( is not closed")
		}
		p.at++
		p.space()
		return n, nil
	}
	return p.term()
}

// term parses a quoted phrase, a field such as camera:canon, or a word.
func (p *parser) term() (node, error) {
	start := p.at
	var text strings.Builder
	quoted := false
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if r == '"' {
			end := strings.IndexByte(p.text[p.at+1:], '"')
			if end < 0 {
				return nil, p.fail(p.at, "this quotation mark is not closed")
			}
			text.WriteString(p.text[p.at+1 : p.at+1+end])
			p.at, quoted = p.at+end+2, true
			continue
		}
		if unicode.IsSpace(r) || r == '(' || r == ')' {
			break
		}
		text.WriteString(p.text[p.at : p.at+n])
		p.at += n
	}
	end := p.at
	p.space()
	word := text.String()
	if p.text[start] != '"' {
		if field, value, ok := strings.Cut(word, ":"); ok {
			return p.field(start, field, value)
		}
		if from, to, isDate, err := parseDates(word); isDate {
			if err != nil {
				return nil, p.fail(start, "%v", err)
			}
			return dates{from, to}, nil
		}
	}
	begun := strings.HasSuffix(p.text[start:end], "*") && !(quoted && strings.HasSuffix(p.text[start:end], `"`))
	if begun {
		word = strings.TrimSuffix(word, "*")
	}
	n := words{tokens(word), begun}
	if len(n.tokens) == 0 {
		return nil, p.fail(start, "%s holds no word", sanitize.Text(strconv.Quote(p.text[start:end])))
	}
	if p.related == nil || begun {
		return n, nil
	}
	list := anyOf{of: []node{n}}
	for _, other := range p.related(word) {
		if t := tokens(other); len(t) > 0 {
			list.of = append(list.of, words{tokens: t})
		}
	}
	return list, nil
}

func (p *parser) field(start int, field, value string) (node, error) {
	if value == "" {
		return nil, p.fail(start, "%s: needs a value", sanitize.Text(field))
	}
	switch strings.ToLower(field) {
	case "folder":
		return folder(metadata.Fold(strings.Trim(value, "/"))), nil
	case "camera":
		return camera(metadata.Fold(value)), nil
	case "name":
		return name(metadata.Fold(value)), nil
	case "path":
		return path(value), nil
	case "place":
		at, km, far := strings.Cut(value, "~")
		lat, lon, ok := strings.Cut(at, ",")
		x := place{km: 10}
		var err1, err2, err3 error
		x.lat, err1 = strconv.ParseFloat(lat, 64)
		x.lon, err2 = strconv.ParseFloat(lon, 64)
		if far {
			x.km, err3 = strconv.ParseFloat(km, 64)
		}
		if !ok || err1 != nil || err2 != nil || err3 != nil || !(math.Abs(x.lat) <= 90) || !(math.Abs(x.lon) <= 180) || !(x.km >= 0) {
			return nil, p.fail(start, "a place is LATITUDE,LONGITUDE in degrees, or with a distance LATITUDE,LONGITUDE~KILOMETRES")
		}
		return x, nil
	}
	return nil, p.fail(start, "there is no field %s (folder, camera, place, name and path are fields)", sanitize.Text(field))
}

// tokens returns the folded words of a keyword or phrase.
func tokens(text string) []string {
	return strings.FieldsFunc(metadata.Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
}

var date = regexp.MustCompile(`^([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?$`)

// parseDates parses a date or a range of dates. Result isDate reports whether
// `word` looks like one.
func parseDates(word string) (from, to int64, isDate bool, err error) {
	first, last, isRange := strings.Cut(word, "..")
	if !isRange {
		last = first
	}
	if first == "" && last == "" || first != "" && !date.MatchString(first) || last != "" && !date.MatchString(last) {
		return 0, 0, false, nil
	}
	from, to = math.MinInt64, math.MaxInt64
	if first != "" {
		if from, _, err = parseDate(first); err != nil {
			return 0, 0, true, err
		}
	}
	if last != "" {
		if _, to, err = parseDate(last); err != nil {
			return 0, 0, true, err
		}
	}
	if from >= to {
		return 0, 0, true, fmt.Errorf("the range %s is empty", word)
	}
	return from, to, true, nil
}

// parseDate returns the first second of a year, month or day, and the first second
// after it.
func parseDate(word string) (from, to int64, err error) {
	part := date.FindStringSubmatch(word)
	number := func(s string, otherwise int) int {
		if s == "" {
			return otherwise
		}
		n, _ := strconv.Atoi(s)
		return n
	}
	year, month, day := number(part[1], 0), number(part[2], 1), number(part[3], 1)
	start := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if start.Year() != year || int(start.Month()) != month || start.Day() != day {
		return 0, 0, fmt.Errorf("there is no date %s", word)
	}
	end := start.AddDate(1, 0, 0)
	switch {
	case part[3] != "":
		end = start.AddDate(0, 0, 1)
	case part[2] != "":
		end = start.AddDate(0, 1, 0)
	}
	return start.Unix(), end.Unix(), nil
}
