package leakage

import (
	"fmt"

	"cpar"
)

func aspeSegment(p *Observation, x index, s cpar.Segment, b []byte) error {
	m := x.manifest
	switch s.Kind {
	case cpar.SegmentVectors:
		p.What = fmt.Sprintf("vectors of %d records, %d words each", s.Bytes/(8*uint64(m.Dim)), m.Dim)
		p.Learns = "how many records there are; nothing about a record by itself, but its distance to every request"
	case cpar.SegmentForest:
		f, err := cpar.DecodeForest(m, b)
		if err != nil {
			return err
		}
		p.What = fmt.Sprintf("the shape of %d trees, %d planes over %d split fields", len(f.Trees), f.Planes, m.Fields)
		p.Learns = "which records lie on the same side of a plane, and the order of the split values of a field"
		if m.OrderBytes == 8 {
			p.Learns += ", and approximately the values themselves"
		}
	case cpar.SegmentLists:
		p.What = fmt.Sprintf("where each of %d lists begins", m.Lists)
		p.Learns = "which records share a list, hence which photos are similar"
	case cpar.SegmentCentroids:
		p.What = fmt.Sprintf("centroids of %d lists, %d words each", m.Lists, m.Dim)
		p.Learns = "nothing about a list by itself, but its distance to every request"
	case cpar.SegmentPlanes:
		p.What = fmt.Sprintf("%d planes, %d words each", m.Planes, m.Fields+1)
		p.Learns = "nothing by themselves; with a request that prunes or goes best bin first, its signed distance to each plane"
	}
	return nil
}

func aspeRequest(q *cpar.Request, b []byte) ([]Observation, error) {
	rest := len(b)
	var parts []Observation
	add := func(what, learns string, size int, first []byte) {
		rest -= size
		parts = append(parts, Observation{What: what, Learns: learns, Bytes: uint64(size), Start: start(first)})
	}
	words := 8 * len(q.Vector)
	add(fmt.Sprintf("the encrypted vector, %d words", len(q.Vector)),
		"the distance to every record, up to one scale per request and one offset per index", words, b[36:36+words])
	if len(q.Order) > 0 {
		size := rest - 36 - 4
		if q.Planes != nil {
			size -= 4 + 8*len(q.Planes.Vector) + 16
		}
		add(fmt.Sprintf("%d order ciphertexts", len(q.Order)),
			"on which side of every plane the photo lies; the same photo has the same sides, so two requests can be linked", size, b[40+words:])
	}
	if q.Planes != nil {
		add(fmt.Sprintf("the encrypted plane vector, %d words", len(q.Planes.Vector)),
			"the signed distance to every plane, hence the spacing of the split values", 8*len(q.Planes.Vector)+20, nil)
	}
	how := fmt.Sprintf("the header: %d neighbours", q.Params.L)
	if q.Params.UsesForest() || q.Params.Search != 0 {
		how += fmt.Sprintf(", AP-%g, search by %v", float64(q.Params.Approx)/10, q.Params.Search)
	}
	return append(parts, Observation{What: how, Bytes: uint64(rest), Start: start(b),
		Learns: "which index is asked, how many records are wanted, and when"}), nil
}

func aspeReply(a *cpar.Reply, b []byte) ([]Observation, error) {
	return []Observation{{What: fmt.Sprintf("%d records with scores and encrypted keywords", len(a.Matches)), Bytes: uint64(len(b)), Start: start(b),
		Learns: "the cloud made it: it knows which records were nearest"}}, nil
}
