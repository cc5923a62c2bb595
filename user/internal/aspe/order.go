package aspe

import (
	"cpar"
	"cpar/internal/enum"
	"cpar/model/vector"
	"cpar/user/internal/index"
	"cpar/user/ope"
)

// An Order selects the encoding of split values for the server.
type Order uint8

const (
	// OrderRank uses dense ranks among the split values of a field, two bytes
	// each. They reveal only the order (ideal order-preserving security).
	OrderRank Order = 0
	// OrderOPE uses the paper's order-preserving encryption (package ope),
	// eight bytes each. It also reveals approximate values.
	OrderOPE Order = 1
)

var orders = enum.Table[Order]{What: "order", Names: []string{"rank", "ope"}}

func (o Order) String() string { return orders.String(o) }

// ParseOrder inverts Order.String.
func ParseOrder(name string) (Order, error) { return orders.Parse(name, cpar.ErrInput) }

// An orderEncoder turns levels into order ciphertexts, OPE(V[s]). field is a
// position in SF. request ≤ split holds for ciphertexts exactly if it holds for
// levels.
type orderEncoder interface {
	split(field int, level uint16) (cpar.OrderCiphertext, error)
	request(field int, level uint16) (cpar.OrderCiphertext, error)
	// bytes returns the width of a ciphertext in an index.
	bytes() uint8
}

func newOrderEncoder(x *index.Index, s *ledgerPart, fields []int) (orderEncoder, error) {
	if s.order == OrderOPE {
		k, err := ope.NewKey(x.Secret("order"), vector.Beta)
		return opeEncoder{k}, err
	}
	splits := make([][]int, len(fields))
	field := 0
	for _, c := range s.planes {
		if c.Dim != fields[field] {
			field++
		}
		splits[field] = append(splits[field], int(c.Value))
	}
	ranks := make(rankEncoder, len(fields))
	for i := range ranks {
		var err error
		if ranks[i], err = ope.NewRanks(splits[i]); err != nil {
			return nil, err
		}
	}
	return ranks, nil
}

// rankEncoder holds the ranks of the split values of each field.
type rankEncoder []*ope.Ranks

func (r rankEncoder) split(field int, level uint16) (cpar.OrderCiphertext, error) {
	rank, err := r[field].OfSplit(int(level))
	return cpar.OrderCiphertext(rank), err
}

func (r rankEncoder) request(field int, level uint16) (cpar.OrderCiphertext, error) {
	return cpar.OrderCiphertext(r[field].Of(int(level))), nil
}

func (rankEncoder) bytes() uint8 { return 2 }

type opeEncoder struct{ key *ope.Key }

func (e opeEncoder) split(field int, level uint16) (cpar.OrderCiphertext, error) {
	c, err := e.key.Encrypt(field, int(level))
	return cpar.OrderCiphertext(c), err
}

func (e opeEncoder) request(field int, level uint16) (cpar.OrderCiphertext, error) {
	return e.split(field, level)
}

func (opeEncoder) bytes() uint8 { return 8 }
