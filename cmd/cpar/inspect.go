package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// A seen is one thing that lies at the cloud, in plain words.
type seen struct {
	What  string `json:"what"`
	Bytes uint64 `json:"bytes"`
	// Learns is what the cloud can make of it.
	Learns string `json:"learns"`
	// Start is its first bytes, in hexadecimal.
	Start string `json:"start,omitempty"`
}

type inspected struct {
	Kind   string `json:"kind"`
	Scheme string `json:"scheme"`
	Index  string `json:"index"`
	Seen   []seen `json:"seen"`
	Bytes  uint64 `json:"bytes"`
	// Opened is what a key shows besides; nil without one.
	Opened *opened `json:"opened,omitempty"`
}

func inspectCommand() *cobra.Command {
	var asJSON bool
	var keys keyFlags
	c := &cobra.Command{
		Use:   "inspect INDEX|REQUEST|REPLY",
		Short: "show what the cloud sees of an index, a request or a reply",
		Long: `inspect opens an index folder, or a request that annotate --save-requests kept,
without a key, as the cloud does, and says in plain words what is there, how many
bytes it has, and what can be learnt from it.

With --key it also says, of an index folder, what only the key shows: the profile and
the ranker that it was built with, and which image network it needs.`,
		Example: `  $ cpar inspect family.index
  $ cpar inspect family.index --key family.key
  $ cpar annotate beach.jpg --save-requests sent/ … && cpar inspect sent/request-0001`,
		Args: oneArg("an index folder, or a file with a request or reply"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := inspect(args[0])
			if err != nil {
				return err
			}
			if keys.path != "" {
				if r.Opened, err = openFolder(args[0], r.Kind, &keys); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, r, func() { r.print(cmd.OutOrStdout()) })
		},
	}
	// Not from the environment: most of what is here is to be seen without a key.
	c.Flags().StringVar(&keys.path, "key", "", "also say what only this key `file` shows of an index")
	c.Flags().StringVar(&keys.passphraseFile, "passphrase-file", "", "read the passphrase from this `file` instead of the terminal")
	jsonFlag(c, &asJSON)
	return c
}

func inspect(path string) (*inspected, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("inspecting: %w: %w", cpar.ErrInput, err)
	}
	if info.IsDir() {
		x, err := indexdir.Open(path)
		if err != nil {
			return nil, hint.Add(err, "name the folder that cpar build --out made")
		}
		defer x.Release()
		return inspectIndex(x.Manifest(), x.Segments())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("inspecting: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("inspecting %s: %w: %w", path, cpar.ErrInput, err)
	}
	if q, err := cpar.DecodeRequest(b); err == nil {
		r, err := inspectRequest(q, b)
		if err != nil {
			err = fmt.Errorf("inspecting %s: %w", path, err)
		}
		return r, err
	} else if bytes.HasPrefix(b, []byte("CPARQ")) || bytes.HasPrefix(b, []byte("CPARq")) {
		return nil, fmt.Errorf("inspecting %s: %w", path, err)
	}
	if bytes.HasPrefix(b, []byte("CPARM")) {
		return nil, hint.Add(fmt.Errorf("inspecting %s: %w: it is the manifest of an index", path, cpar.ErrInput), "name the folder that it lies in")
	}
	if a, err := cpar.DecodeReply(b); err == nil {
		r, err := inspectReply(a, b)
		if err != nil {
			err = fmt.Errorf("inspecting %s: %w", path, err)
		}
		return r, err
	} else if bytes.HasPrefix(b, []byte("CPAR")) {
		return nil, fmt.Errorf("inspecting %s: %w", path, err)
	}
	return nil, hint.Add(fmt.Errorf("inspecting %s: %w: it is no index, request or reply", path, cpar.ErrCorrupt),
		"pass the folder that build wrote, or a file of annotate --save-requests")
}

func inspectIndex(m *cpar.Manifest, segments [][]byte) (*inspected, error) {
	r := &inspected{Kind: "index", Scheme: m.Scheme.String(), Index: m.ID.String()}
	sealed, err := sealedParams(m, segments)
	if err != nil {
		return nil, err
	}
	for i, s := range m.Segments {
		item := seen{Bytes: s.Bytes, Start: start(segments[i])}
		switch s.Kind {
		case cpar.SegmentVectors, cpar.SegmentParams, cpar.SegmentHints:
			if m.Scheme == cpar.SchemeSealed || m.Scheme == cpar.SchemeLocal {
				describeHidden(&item, m, s, sealed)
				break
			}
			rows := s.Bytes / (8 * uint64(m.Dim))
			item.What = fmt.Sprintf("vectors of %d records, %d words each", rows, m.Dim)
			item.Learns = "how many records there are; nothing of a record by itself, but its distance to every request"
		case cpar.SegmentKeywords:
			item.What = fmt.Sprintf("keywords of %d records, %d bytes each (AES-256-GCM)", m.Records, m.KeywordBytes)
			item.Learns = "nothing: every block has the same length"
		case cpar.SegmentForest:
			f, err := cpar.DecodeForest(m, segments[i])
			if err != nil {
				return nil, err
			}
			item.What = fmt.Sprintf("the shape of %d trees, %d planes over %d split fields", len(f.Trees), f.Planes, m.Fields)
			item.Learns = "which records lie on the same side of a plane, and the order of the split values of a field"
			if m.OrderBytes == 8 {
				item.Learns += ", and approximately the values"
			}
		case cpar.SegmentLists:
			item.What = fmt.Sprintf("where each of %d lists begins", m.Lists)
			item.Learns = "which records are in one list, hence which photos are alike"
		case cpar.SegmentCentroids:
			item.What = fmt.Sprintf("centroids of %d lists, %d words each", m.Lists, m.Dim)
			item.Learns = "nothing of a list by itself, but its distance to every request"
		case cpar.SegmentPlanes:
			item.What = fmt.Sprintf("%d planes, %d words each", m.Planes, m.Fields+1)
			item.Learns = "nothing by themselves; with a request that prunes or goes best bin first, its signed distance to each plane"
		case cpar.SegmentLedger:
			item.What = "the owner's profile and keyword list (AES-256-GCM)"
			item.Learns = "its length, which grows with the list of keywords"
		}
		r.add(item)
	}
	return r, nil
}

func inspectRequest(q *cpar.Request, b []byte) (*inspected, error) {
	if q.Opaque != nil {
		return inspectSealedRequest(q)
	}
	r := &inspected{Kind: "request", Scheme: q.Params.Scheme.String(), Index: q.Index.String()}
	rest := len(b)
	add := func(what, learns string, size int, first []byte) {
		rest -= size
		r.add(seen{What: what, Learns: learns, Bytes: uint64(size), Start: start(first)})
	}
	words := 8 * len(q.Vector)
	add(fmt.Sprintf("the encrypted vector, %d words", len(q.Vector)),
		"the distance to every record, up to one scale a request and one offset an index", words, b[36:36+words])
	if len(q.Order) > 0 {
		size := rest - 36 - 4
		if q.Planes != nil {
			size -= 4 + 8*len(q.Planes.Vector) + 16
		}
		add(fmt.Sprintf("%d order ciphertexts", len(q.Order)),
			"on which side of every plane the photo lies; they are the same for the same photo, so two requests can be linked", size, b[40+words:])
	}
	if q.Planes != nil {
		add(fmt.Sprintf("the encrypted plane vector, %d words", len(q.Planes.Vector)),
			"the signed distance to every plane, hence the spacing of the split values", 8*len(q.Planes.Vector)+20, nil)
	}
	how := fmt.Sprintf("the header: %d neighbours", q.Params.L)
	if q.Params.Scheme == cpar.SchemeCPAR {
		how += fmt.Sprintf(", AP-%g, search by %v", float64(q.Params.Approx)/10, q.Params.Search)
	}
	r.add(seen{What: how, Bytes: uint64(rest), Start: start(b),
		Learns: "which index is asked, how many records are wanted, and when"})
	return r, nil
}

func inspectReply(a *cpar.Reply, b []byte) (*inspected, error) {
	if a.Opaque != nil {
		return inspectSealedReply(a)
	}
	r := &inspected{Kind: "reply", Index: a.Index.String()}
	r.add(seen{What: fmt.Sprintf("%d records with scores and encrypted keywords", len(a.Matches)), Bytes: uint64(len(b)), Start: start(b),
		Learns: "the cloud made it: it knows which records were nearest"})
	return r, nil
}

func (r *inspected) add(s seen) {
	r.Seen = append(r.Seen, s)
	r.Bytes += s.Bytes
}

func start(b []byte) string { return fmt.Sprintf("% x", b[:min(len(b), 16)]) }

func (r *inspected) print(w io.Writer) {
	head := r.Kind
	if r.Scheme != "" {
		head += " of scheme " + r.Scheme
	}
	fmt.Fprintf(w, "%s, index %s: %d bytes\n", head, r.Index, r.Bytes)
	for _, s := range r.Seen {
		fmt.Fprintf(w, "\n%s\n  %d bytes%s\n  the cloud learns: %s\n", s.What, s.Bytes, prefixed(", starting ", s.Start), s.Learns)
	}
	if r.Opened != nil {
		r.Opened.print(w)
	}
}

func prefixed(prefix, s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return prefix + s
}
