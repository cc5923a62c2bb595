package library

import (
	"context"

	"cpar/photo"
	"cpar/user/device"
)

// Recall returns the stored results of photos, in order, without a request.
// Known is false if no answer is stored or the photo has changed since.
func (l *Library) Recall(ctx context.Context, x *device.Index, list []photo.Photo, o Options) ([]Result, error) {
	release, err := l.lockShared()
	if err != nil {
		return nil, err
	}
	defer release()
	key, err := keyOf(x, o)
	if err != nil {
		return nil, err
	}
	o.OnErrors = -1
	w := &annotator{l: l, x: x, owner: x.Owner, o: o, list: list, key: key, told: make([]bool, len(list)), results: make([]Result, len(list))}
	_, err = w.look(ctx)
	return w.results, err
}
