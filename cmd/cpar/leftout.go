package main

import (
	"cpar/photo/dataset"
	"cpar/user"
)

// counts account for every file in a collection's folder. A photo is used or
// left out for one reason, and other files have a reason too.
type counts struct {
	Found   int            `json:"found"`
	Used    int            `json:"used"`
	LeftOut map[string]int `json:"left_out"`
	Others  map[string]int `json:"other_files"`
}

// photoKinds maps warnings about unused photos to a word each.
var photoKinds = map[dataset.Kind]string{
	dataset.NoKeywords: "without keywords",
	dataset.Missing:    "missing",
	dataset.Unreadable: "unreadable",
	dataset.Ignored:    "not read",
	dataset.Outside:    "outside the collection",
	dataset.Encoding:   "name or row not in UTF-8",
	dataset.Malformed:  "malformed row",
}

func countsOf(c *dataset.Collection, used int, skipped []user.Skipped, duplicates []user.NamedDuplicate) counts {
	n := counts{Used: used, LeftOut: map[string]int{}, Others: map[string]int{}}
	seen := map[string]bool{}
	for _, it := range c.Photos {
		seen[it.Name] = true
	}
	for _, w := range c.Warnings { // the first reason per photo
		if reason, ok := photoKinds[w.Kind]; ok && !seen[w.Name] {
			seen[w.Name] = true
			n.LeftOut[reason]++
		}
	}
	if len(skipped) > 0 {
		n.LeftOut["damaged or of no known kind"] = len(skipped)
	}
	if len(duplicates) > 0 {
		n.LeftOut["duplicate"] = len(duplicates)
	}
	for _, s := range c.Skipped {
		n.Others[string(s.Reason)]++
	}
	n.Found = used + n.left()
	return n
}

func (n counts) left() (sum int) {
	for _, k := range n.LeftOut {
		sum += k
	}
	return sum
}
