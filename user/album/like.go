package album

import (
	"cpar/user"
	"cpar/user/album/catalogue"
)

// Records maps the records of an index to an album's photos with the same content.
type Records struct {
	photos map[uint32][]*catalogue.Photo
	// Lacking counts photos that an older program added without a content digest.
	// Unindexed counts photos that the index lacks. No search finds either.
	Lacking, Unindexed int
}

// A Match is an album's photo that a search of an index has found.
type Match struct {
	*catalogue.Photo
	user.Hit
}

// NewRecords looks up the records of photos with a function that
// device.Index.Locate returns.
func NewRecords(photos []*catalogue.Photo, locate func(content [32]byte) []uint32) *Records {
	r := &Records{photos: map[uint32][]*catalogue.Photo{}}
	for _, p := range photos {
		records := locate(p.Content)
		switch {
		case p.Content == [32]byte{}:
			r.Lacking++
		case len(records) == 0:
			r.Unindexed++
		}
		for _, record := range records {
			r.photos[record] = append(r.photos[record], p)
		}
	}
	return r
}

// Matches returns the photos of hits, in the order of the hits. It skips hits
// without a photo in the album, and returns every copy of a photo.
func (r *Records) Matches(hits []user.Hit) (found []Match) {
	seen := map[*catalogue.Photo]bool{}
	for _, h := range hits {
		for _, p := range r.photos[h.Record] {
			if !seen[p] { // an index may have several records of a photo
				seen[p] = true
				found = append(found, Match{p, h})
			}
		}
	}
	return found
}
