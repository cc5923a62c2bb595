package user

import (
	"fmt"

	"cpar/internal/seed"
	"cpar/user/internal/index"
)

// drawIndexSecret derives the secret for the id and the order of records. It is
// fresh and depends on collection and options, because two indexes with one id
// would encrypt vectors twice under one key.
func drawIndexSecret(key *Key, c *index.Collection, opt Options) seed.Secret {
	d := index.NewDigest()
	index.Add(d, []byte(fmt.Sprint(opt.Scheme, opt.Profile, opt.Ranker, opt.PCA, opt.Trees, opt.Lists, opt.Split, opt.Place, opt.Order, opt.Block, opt.Careful)))
	if opt.Cells > 0 {
		index.Add(d, []int64{int64(opt.Cells)})
	}
	for _, r := range c.Records {
		index.Add(d, r.Vector.Levels)
		index.Add(d, r.Vector.KL)
		index.Add(d, r.Vector.X)
		for _, w := range r.Keywords {
			index.Add(d, []byte(w))
		}
	}
	source := seed.NewSource(key.secret.Derive("fresh"), opt.testOnlyRand)
	return source.Fresh("index", 0, d.Sum())
}

func shuffle(c *index.Collection, drawn seed.Secret) {
	order := make([]uint32, len(c.Records))
	for i, from := range seed.New(drawn.Derive("order")).Perm(len(order)) {
		order[i] = uint32(from)
	}
	c.Reorder(order)
}

func (u *updater) permutation(n int) []int {
	return seed.New(u.owner.index.Fresh("order", u.owner.Digest())).Perm(n)
}
