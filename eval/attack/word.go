package attack

import (
	"context"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/wordvector"
	"cpar/user"
)

// Words: does a request search for a word or annotate a photo? The cloud
// measures the lengths of a request and its reply, and how far their words
// deviate from uniform. It knows maxWords requests of each kind, and guesses
// the kind whose known requests are most similar on average.

// maxWords bounds the number of requests of each kind that the cloud knows, and
// the number of requests that it guesses.
const maxWords = 60

func (r *run) words(ctx context.Context) error {
	if len(r.c.Train) < minLearnt {
		return nil
	}
	b, err := build(ctx, r.c.Train[:min(sealedRecords, len(r.c.Train))], user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Learned})
	if err != nil {
		return err
	}
	defer b.Close()
	owner, err := b.Device()
	if err != nil {
		return err
	}
	cloud, err := openSealed(b.Files)
	if err != nil {
		return err
	}
	known := owner.Keywords()
	photos := r.c.Test[:min(2*maxWords, len(r.c.Test)/2*2)]
	views := make([][][]float64, len(photos)) // of a photo and a word
	if err := measure.Each(ctx, len(photos), func(i int) error {
		_, photo, err := owner.Request(photos[i].Vectors, owner.DefaultParams())
		if err != nil {
			return err
		}
		s, err := owner.SearchWords(wordvector.Query{{Word: known[i%len(known)], Weight: 1}}, nil)
		if err != nil {
			return err
		}
		_, words, err := s.Requests(false)
		if err != nil {
			return err
		}
		for _, q := range []*cpar.Request{photo, words[0]} {
			seen, err := cloud.look(ctx, q)
			if err != nil {
				return err
			}
			sent, err := q.MarshalBinary()
			if err != nil {
				return err
			}
			views[i] = append(views[i], append(seen, float64(len(sent))))
		}
		return nil
	}); err != nil {
		return err
	}
	row := guessWords(views)
	row.Profile = profile.Learned.String()
	r.add(row)
	return nil
}

// guessWords guesses which of two requests are for words. `views[i]` holds the
// measurements of a request for a photo and of one for a word.
func guessWords(views [][][]float64) Row {
	half := len(views) / 2
	classes := learnClasses(views[:half])
	right := 0
	for _, pair := range views[half:] {
		right += count(len(pair), func(kind int) bool { return classes.nearest(pair[kind]) == kind })
	}
	return proportion("word-or-photo", cpar.SchemeSealed.String(), 2*half, right, 2*(len(views)-half), 0.5)
}
