package query

import (
	"strconv"
	"strings"
)

// Split divides a query into words, in the syntax of package wordvector, and the
// rest, such as dates and folders. A search finds photos that look like the words,
// and the rest filters them. Excluded words belong to both.
func (q Query) Split() (words string, rest Query) {
	var list []string
	n := split(q.root, &list)
	if n == nil {
		n = allOf{}
	}
	return strings.Join(list, " "), Query{n}
}

// split appends the words of a node to list and returns the rest of the node, or
// nil if it is a phrase or an alternative that contains one.
func split(n node, list *[]string) node {
	switch n := n.(type) {
	case words:
		*list = append(*list, n.quoted())
		return nil
	case noneOf:
		if w, ok := n.of.(words); ok {
			*list = append(*list, "-"+w.quoted())
		}
		return n
	case allOf:
		return allOf{remaining(n.of, list)}
	case anyOf:
		if rest := remaining(n.of, list); len(rest) == len(n.of) {
			return anyOf{rest} // without words
		}
		return nil // for "beach or 2024", a photo of another year may look like a beach
	}
	return n
}

// quoted quotes a phrase of several tokens. It does not quote single words, so
// that a search can take several together for one keyword.
func (n words) quoted() string {
	if len(n.tokens) == 1 {
		return n.tokens[0]
	}
	return strconv.Quote(strings.Join(n.tokens, " "))
}

func remaining(nodes []node, list *[]string) (rest []node) {
	for _, n := range nodes {
		if left := split(n, list); left != nil {
			rest = append(rest, left)
		}
	}
	return rest
}
