package aspe

import (
	"slices"

	"cpar"
	"cpar/internal/enum"
	"cpar/model/vector"
	"cpar/user/internal/index"
	"cpar/user/ope"
)

// An Order selects the encoding of split values for the server.
type Order uint8

const (
	// OrderRank encodes a value as its rank among the split values of its field, in two
	// bytes. Ranks reveal only the order (ideal order-preserving security).
	OrderRank Order = 0
	// OrderOPE uses the paper's order-preserving encryption (package ope), in
	// eight bytes. It also reveals approximate values.
	OrderOPE Order = 1
)

var orders = enum.Table[Order]{What: "order", Names: []string{"rank", "ope"}}

func (o Order) String() string { return orders.String(o) }

func ParseOrder(name string) (Order, error) { return orders.Parse(name, cpar.ErrInput) }

// bytes returns the number of bytes of a stored ciphertext.
func (o Order) bytes() uint8 {
	if o == OrderOPE {
		return 8
	}
	return 2
}

// An orderEncoder encodes a field's level, from a split or a request, as an
// order ciphertext, OPE(V[s]) in the paper. Parameter `field` is a position
// among the split fields SF. A request's ciphertext is at most a split's
// ciphertext if and only if the same holds for their levels.
type orderEncoder func(field int, level uint16) (cpar.OrderCiphertext, error)

func newOrderEncoder(x *index.Index, s *ledgerPart, fields []int) (orderEncoder, error) {
	if s.order == OrderOPE {
		k, err := ope.NewKey(x.Secret("order"), vector.Beta)
		return func(field int, level uint16) (cpar.OrderCiphertext, error) {
			c, err := k.Encrypt(field, int(level))
			return cpar.OrderCiphertext(c), err
		}, err
	}
	// A rank is the number of the field's splits below a level. Ranks suffice,
	// because only the owner, who knows the splits, encodes new levels.
	splits := make([][]uint16, len(fields)) // ascending split values of each field
	for _, p := range s.planes {
		field, _ := slices.BinarySearch(fields, p.Dim)
		splits[field] = append(splits[field], p.Value)
	}
	return func(field int, level uint16) (cpar.OrderCiphertext, error) {
		rank, _ := slices.BinarySearch(splits[field], level)
		return cpar.OrderCiphertext(rank), nil
	}, nil
}
