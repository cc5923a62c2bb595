package query

import (
	"strconv"
	"strings"
)

// Split divides a query into words, in the syntax of package wordvector, and the
// rest, such as dates and folders. Photos can look like words, and the rest selects
// among them. Words that exclude photos belong to both.
func (q Query) Split() (words string, rest Query) {
	var list []string
	n := split(q.root, &list)
	if n == nil {
		n = allOf{}
	}
	return strings.Join(list, " "), Query{n}
}

// split appends the words of a node to list, and returns the node without them, or
// nil if nothing is left.
func split(n node, list *[]string) node {
	switch n := n.(type) {
	case words:
		*list = append(*list, strconv.Quote(strings.Join(n.tokens, " ")))
		return nil
	case noneOf:
		if w, ok := n.of.(words); ok {
			*list = append(*list, "-"+strconv.Quote(strings.Join(w.tokens, " ")))
		}
		return n
	case allOf:
		return allOf{remaining(n.of, list)}
	case anyOf:
		if rest := remaining(n.of, list); len(rest) == len(n.of) {
			return anyOf{rest} // without words
		}
		return nil // "beach or 2024": a photo of another year may look like a beach
	}
	return n
}

func remaining(nodes []node, list *[]string) (rest []node) {
	for _, n := range nodes {
		if left := split(n, list); left != nil {
			rest = append(rest, left)
		}
	}
	return rest
}
