package library

import (
	"cmp"
	"context"
	"slices"

	"cpar/model/rank"
	"cpar/photo/video"
	"cpar/user/device"
)

// prepareVideo computes the features of a video's frames unless its answer is
// known. Each frame is a separate request, so that the number of requests
// depends on the video alone.
func (w *annotator) prepareVideo(ctx context.Context, j *job) error {
	var err error
	if j.content, err = video.Digest(j.path); err != nil {
		return err
	}
	if w.once(j) || w.recall(j) {
		return nil
	}
	if w.o.Stored {
		return errNotStored
	}
	frames, err := video.Frames(ctx, j.path)
	if err != nil {
		return err
	}
	j.frames = nil
	for _, png := range frames {
		features, err := w.owner.Features(png)
		if err != nil {
			return err
		}
		j.frames = append(j.frames, device.Extracted(w.list[j.at].Path, features))
	}
	return nil
}

// mergeFrames merges the answers to the frames of a video. A photo has one frame.
// The probability and the weight of a keyword are means over all frames, with
// 0 for a frame without the keyword. The mean is the probability that the
// keyword fits a random frame, so it is comparable with the threshold for
// photos. A maximum would grow with the number of frames. Keywords are ordered
// by probability, or by weight if there are no probabilities. The neighbours
// are the nearest of all frames.
func mergeFrames(frames []device.Annotated) device.Annotated {
	if len(frames) == 1 {
		return frames[0]
	}
	sum := frames[len(frames)-1]
	sum.Err, sum.Sent, sum.Received, sum.Near, sum.Keywords = nil, 0, 0, nil, nil
	at := map[string]int{}
	for _, f := range frames {
		sum.Err = cmp.Or(sum.Err, f.Err)
		sum.Sent, sum.Received = sum.Sent+f.Sent, sum.Received+f.Received
		sum.Near = append(sum.Near, f.Near...)
		for _, k := range f.Keywords {
			i, ok := at[k.Word]
			if !ok {
				i = len(sum.Keywords)
				at[k.Word], sum.Keywords = i, append(sum.Keywords, rank.Keyword{Word: k.Word})
			}
			sum.Keywords[i].Weight += k.Weight / float64(len(frames))
			sum.Keywords[i].Probability += k.Probability / float64(len(frames))
		}
	}
	slices.SortStableFunc(sum.Keywords, func(a, b rank.Keyword) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(b.Weight, a.Weight))
	})
	slices.SortStableFunc(sum.Near, func(a, b rank.Neighbour) int { return cmp.Compare(a.Dis, b.Dis) })
	seen := map[uint32]bool{}
	sum.Near = slices.DeleteFunc(sum.Near, func(n rank.Neighbour) bool {
		again := seen[n.Record]
		seen[n.Record] = true
		return again
	})
	return sum
}
