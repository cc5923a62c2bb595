package ui

import (
	"context"
	"slices"

	"cpar"
	"cpar/internal/leakage"
	"cpar/model/feature"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
)

// AnnotateData annotates a photo outside the folders and stores nothing.
func (w *LibraryBackend) AnnotateData(ctx context.Context, data []byte) (Answer, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	defer w.keepState()
	ask, o := device.AnnotateOptions{Params: w.o.Params}, w.options()
	ask.Ranking.MaxKeywords, ask.Ranking.MinProbability = o.MaxKeywords, o.MinProbability
	var saw *CloudView
	ask.Sending = func(_ int, q *cpar.Request) (err error) {
		saw, err = newCloudView(q)
		return err
	}
	stranger := device.Photo{Name: "the photo", Features: func(o *user.Owner) (*feature.Vectors, error) { return o.UncachedFeatures(data) }}
	all, err := w.index.Annotate(ctx, []device.Photo{stranger}, ask)
	if err != nil || len(all) == 0 {
		return Answer{}, err
	}
	a := &all[0]
	return Answer{a.Keywords, a.Near, saw.answered(a, len(a.Near)), a.Err}, nil
}

func newCloudView(q *cpar.Request) (*CloudView, error) {
	b, err := q.MarshalBinary()
	if err != nil {
		return nil, err
	}
	parts, err := leakage.Request(q, b)
	if err != nil {
		return nil, err
	}
	return &CloudView{Scheme: q.Params.Scheme.String(), Observations: parts, Bytes: len(b), Start: slices.Clone(b[:min(len(b), startBytes)]), scheme: q.Params.Scheme}, nil
}

// answered completes s after the reply, or returns nil if nothing was sent.
func (s *CloudView) answered(a *device.Annotated, nearest int) *CloudView {
	if s == nil || a.Sent == 0 {
		return nil
	}
	s.Sent, s.Received, s.Visited = a.Sent, a.Received, int(a.Visited)
	s.Learnt = leakage.Learnt(s.scheme, s.Visited, nearest)
	return s
}

func (w *LibraryBackend) LookData(name string, data []byte) (*Known, error) {
	words, problems := metadata.Read(name, data)
	return knownOf(words, problems, nil), nil
}

func (w *LibraryBackend) Sidecar(name string, data []byte, k *Known, d Decision) ([]byte, error) {
	c := metadata.Change{Accept: d.Accept, Reject: d.Reject, Add: d.Add}
	threshold := w.choices().threshold
	for _, word := range k.Keywords {
		if threshold > 0 && word.Probability >= threshold {
			c.Suggest = append(c.Suggest, word.Word)
		}
	}
	return metadata.NewSidecar(name, data, c)
}
