package search

import (
	"cmp"
	"slices"

	"cpar"
)

// Join merges the replies of all shards to one request into the reply of the
// whole index. Scores of one request are comparable across machines.
func Join(q *cpar.Request, parts []*cpar.Reply) *cpar.Reply {
	out := &cpar.Reply{Index: q.Index}
	for _, r := range parts {
		out.Visited += r.Visited
		out.Touched += r.Touched
		out.Matches = append(out.Matches, r.Matches...)
	}
	slices.SortFunc(out.Matches, func(a, b cpar.Match) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Record, b.Record))
	})
	out.Matches = out.Matches[:min(len(out.Matches), int(q.Params.L))]
	return out
}
