package eval

import (
	"math"

	"cpar"
)

// A HomeRow compares the bytes that an owner sends and receives under sealed and local.
type TransferRow struct {
	Records  int     `json:"n"`
	Requests int     `json:"requests"`
	Sealed   float64 `json:"sealed_mb"`
	Local    float64 `json:"local_mb"`
	// The Stored sizes must be kept at home: profile, hints and keywords, or everything.
	SealedStored float64 `json:"sealed_stored_mb"`
	LocalStored  float64 `json:"local_stored_mb"`
}

// Homes are the sizes behind the rows, in bytes. All but the profile and a request grow
// with the number of records, and are given per record.
type TransferSizes struct {
	Profile float64 // fetched once in every scheme
	Request float64
	Reply   float64 // per record
	Sealed  float64 // per record: hints and keywords, which scheme sealed fetches once
	Local   float64 // per record: vector and keywords, which scheme local fetches once
}

// LocalVector returns the size in bytes of a vector of dim coordinates in scheme local.
func LocalVectorBytes(dim int) float64 {
	return float64(cpar.LocalBlockBytes(uint32(dim))) / cpar.LocalBlockRecords
}

// once returns what each scheme fetches once for n records; each is the size of one
// sealed request and reply.
func (h TransferSizes) once(n int) (sealed, local, each float64) {
	records := float64(n)
	return h.Profile + records*h.Sealed, h.Profile + records*h.Local, h.Request + records*h.Reply
}

// Rows returns a table by records and requests.
func (h TransferSizes) Rows() (rows []TransferRow) {
	mb := func(bytes float64) float64 { return RoundTo(bytes/1e6, 1) }
	for _, n := range []int{1000, 10000, 100000, 1000000} {
		sealed, local, each := h.once(n)
		for _, requests := range []int{1, 100, 10000} {
			rows = append(rows, TransferRow{Records: n, Requests: requests, Sealed: mb(sealed + float64(requests)*each), Local: mb(local),
				SealedStored: mb(sealed), LocalStored: mb(local)})
		}
	}
	return rows
}

// Crossing returns the least number of requests to n records for which scheme local moves
// fewer bytes than sealed.
func (h TransferSizes) Crossing(n int) int {
	sealed, local, each := h.once(n)
	return max(0, int(math.Floor((local-sealed)/each))+1)
}

// homes returns the rows for a measured index.
func (c *SealedCost) homes() []TransferRow {
	n := float64(c.Records)
	return TransferSizes{Profile: float64(c.Profile), Request: float64(c.Request), Reply: float64(c.Reply) / n,
		Sealed: float64(c.Hints+c.Table) / n, Local: float64(c.LocalIndex-c.Profile) / n}.Rows()
}
