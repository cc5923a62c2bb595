package user

import (
	"cpar/kdforest"
	"cpar/user/internal/aspe"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

// Twin returns the plaintext counterpart of the index.
func (b *Builder) Twin() (*Twin, error) {
	t, err := b.twinBuilder.Twin()
	return &Twin{t}, err
}

// A Twin is a plaintext index to compare the encrypted search with. It never
// leaves the owner.
type Twin struct{ twin index.Twin }

// Search performs the server's search on plaintext. trace, if not nil, receives
// every visit.
func (t *Twin) Search(pending *Pending, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	return t.twin.Search(pending.replyReader, trace)
}

type (
	ASPETwin = aspe.Twin
	RowsTwin = rows.Twin
)

// ASPE returns the twin of an index of scheme cpar, ivf or capia.
func (t *Twin) ASPE() (c *ASPETwin, ok bool) {
	c, ok = t.twin.(*ASPETwin)
	return c, ok
}

// Rows returns the twin of an index of scheme sealed or local.
func (t *Twin) Rows() (r *RowsTwin, ok bool) {
	r, ok = t.twin.(*RowsTwin)
	return r, ok
}
