package user

import (
	"cpar/kdforest"
	"cpar/user/internal/aspe"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

// Twin lays the collection out in the clear.
func (b *Builder) Twin() (*Twin, error) {
	t, err := b.twinBuilder.Twin()
	return &Twin{t}, err
}

// A Twin is an index in the clear, which the encrypted search is held against. It
// never leaves the owner.
type Twin struct{ twin index.Twin }

// Search answers a request in the clear as the cloud answers it encrypted. trace, if
// not nil, is told of every visit.
func (t *Twin) Search(pending *Pending, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	return t.twin.Search(pending.replyReader, trace)
}

// The twins of the schemes, for what only one of them can tell.
type (
	ASPETwin = aspe.Twin
	RowsTwin = rows.Twin
)

// Compared is the twin of an index of scheme cpar, ivf or capia.
func (t *Twin) ASPE() (c *ASPETwin, ok bool) {
	c, ok = t.twin.(*ASPETwin)
	return c, ok
}

// Rows is the twin of an index of scheme sealed or local.
func (t *Twin) Rows() (r *RowsTwin, ok bool) {
	r, ok = t.twin.(*RowsTwin)
	return r, ok
}
