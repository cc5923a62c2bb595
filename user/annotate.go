package user

import (
	"context"

	"cpar"
	"cpar/user/rank"
)

// Ask sends a request to a cloud and returns its reply, over HTTP (package
// cparhttp) or however a caller likes.
type Ask func(ctx context.Context, q *cpar.Request) (*cpar.Reply, error)

// Annotate is the whole walk of a new photo:
//
//	photo ─▶ features ─▶ vector ─▶ request ║─▶ scores ─▶ reply ║─▶ keywords
//	         the owner's machine           ║     the cloud     ║  the owner's machine
//
// It returns at most n keywords, heaviest first.
func (o *Owner) Annotate(ctx context.Context, ask Ask, photo []byte, p cpar.Params, n int) ([]rank.Scored, error) {
	features, err := o.Features(photo)
	if err != nil {
		return nil, err
	}
	pending, request, err := o.Request(features, p)
	if err != nil {
		return nil, err
	}
	reply, err := ask(ctx, request)
	if err != nil {
		return nil, err
	}
	return pending.Keywords(reply, n)
}
