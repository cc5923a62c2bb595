package leakage_test

import (
	"fmt"

	"cpar"
	"cpar/internal/leakage"
)

// The request as the cloud sees it, and what the cloud can learn from it.
func ExampleRequest() {
	q := &cpar.Request{
		Index:  cpar.IndexID{1},
		Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000},
		Vector: make([]uint64, 1347),
	}
	encoded, err := q.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := leakage.Request(q, encoded)
	for _, p := range parts {
		fmt.Printf("%s: %d bytes\n  %s\n", p.What, p.Bytes, p.Learns)
	}
	fmt.Println(err)
	// Output:
	// the encrypted vector, 1347 words: 10776 bytes
	//   the distance to every record, up to one scale per request and one offset per index
	// the header: 10 neighbours: 40 bytes
	//   which index is asked, how many records are wanted, and when
	// <nil>
}
