package user

import (
	"fmt"

	"cpar/internal/seed"
	"cpar/user/internal/index"
)

// draw makes the secret that the id and the order of records come from. It is
// fresh, and another for another collection and for an index that is built otherwise:
// two of one id would encrypt the same vectors twice under one key.
func drawIndexSecret(key *Key, c *index.Collection, opt Options) seed.Secret {
	d := index.NewDigest()
	index.Add(d, []byte(fmt.Sprint(opt.Scheme, opt.Profile, opt.Ranker, opt.PCA, opt.Trees, opt.Lists, opt.Split, opt.Place, opt.Order, opt.Block, opt.Careful)))
	if opt.Cells > 0 {
		index.Add(d, []int64{int64(opt.Cells)})
	}
	for i, v := range c.Vectors {
		index.Add(d, v.Levels)
		index.Add(d, v.KL)
		index.Add(d, v.X)
		for _, w := range c.Keywords[i] {
			index.Add(d, []byte(w))
		}
	}
	source := seed.NewSource(key.secret.Derive("fresh"), opt.testOnlyRand)
	return source.Fresh("index", 0, d.Sum())
}

// shuffle puts the collection into the order of its records.
func shuffle(c *index.Collection, drawn seed.Secret) {
	order := make([]uint32, len(c.Photos))
	for i, from := range seed.New(drawn.Derive("order")).Perm(len(order)) {
		c.Photos[i], order[i] = i, uint32(from)
	}
	c.Z = make([][]int16, len(order))
	c.Reorder(order)
}

// permutation draws an order of n.
func (u *updater) permutation(n int) []int {
	return seed.New(u.owner.index.Fresh("order", u.owner.Digest())).Perm(n)
}
