package cluster

import (
	"math"
)

// Lists is a division of n records into lists, none of them empty.
type Lists struct {
	// List is the list of each record, as they were given.
	List []uint32
	// Order has the records sorted by list, in a list as they were given:
	// record p of an index that is to be searched by list is record Order[p].
	Order []uint32
	// First has where each list begins in Order, and n at its end.
	First []uint32
}

func newLists(list []uint32, k int) *Lists {
	l := &Lists{List: list, Order: make([]uint32, len(list)), First: make([]uint32, k+1)}
	for _, c := range list {
		l.First[c+1]++
	}
	for c := range k {
		l.First[c+1] += l.First[c]
	}
	next := make([]uint32, k)
	copy(next, l.First)
	for i, c := range list {
		l.Order[next[c]] = uint32(i)
		next[c]++
	}
	return l
}

// Len is the number of lists.
func (l *Lists) Len() int { return len(l.First) - 1 }

// Members returns the records of a list, as they were numbered by the caller.
func (l *Lists) Members(list int) []uint32 { return l.Order[l.First[list]:l.First[list+1]] }

// Imbalance is the size of the largest list in mean sizes: 1 for lists of equal
// size.
func (l *Lists) Imbalance() float64 {
	largest := 0
	for c := range l.Len() {
		largest = max(largest, len(l.Members(c)))
	}
	return float64(largest) * float64(l.Len()) / float64(len(l.Order))
}

// DefaultLists is the number of lists for a collection of n photos of width numbers
// each. Of long ones, as profile paper has, 2·√n: 134 for 4,500 and 283 for 20,000.
// More lists find more with the same visits, but their centroids are read for every
// request too. By all rows read, visits and centroids, the share found of the true
// ten nearest is
//
//	rows read          5 %   7.5 %   10 %   20 %           5 %   7.5 %   10 %   20 %
//	4,500   k =  64   0.66    0.80   0.87   0.97   k = 96  0.66    0.81   0.88   0.98
//	        k = 128   0.62    0.80   0.88   0.98   k = 192 0.41    0.76   0.87   0.98
//	20,000  k = 128   0.84    0.92   0.95   0.99   k = 256 0.88    0.95   0.97   1.00
//	        k = 384   0.88    0.95   0.97   1.00   k = 512 0.86    0.95   0.98   1.00
//
// Of short vectors, as profiles learned and network have, 6·√n, but no fewer than
// ten photos a list if 2·√n have more: 402 for 4,500 and 849 for 20,000. Their
// centroids cost little to read, and their ranker wants as many as eighty
// neighbours, of which AP-10 visits (4,500 records, learned and network, four keys):
//
//	k       the true ten nearest   eighty nearest   P lost at most   centroids and visits, µs
//	134     0.96   0.98            0.88   0.94      0.9   2.6 %      55
//	268     0.97   0.99            0.91   0.96      1.6   2.1 %      75
//	402     0.98   0.99            0.92   0.96      0.3   1.5 %      95
func DefaultLists(n, width int) int {
	few := math.Round(2 * math.Sqrt(float64(n)))
	if width > short {
		return max(1, int(few))
	}
	many := math.Round(6 * math.Sqrt(float64(n)))
	return int(max(1, few, min(many, math.Floor(float64(n)/10))))
}

// short is the most numbers of a record that is cheap to read.
const short = 128
