package album

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"cpar"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
)

// A shared repository is closed by its last user.
type shared struct {
	*repository.Repository
	number uint64 // the generation (version of the album) in which it looks
	users  int    // readers of originals, and the Live album
}

// share returns the repository to a user. It opens the repository if it is closed,
// or open in generation `outdated` although the view is newer.
func (l *Live) share(ctx context.Context, outdated uint64) (*shared, error) {
	l.opening.Lock()
	if s := l.files; s != nil && s.number != outdated {
		s.users++
		l.opening.Unlock()
		return s, nil
	}
	l.opening.Unlock()
	l.changing.Lock()
	defer l.changing.Unlock()
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.files == nil || l.files.number == outdated && outdated != l.View().Number {
		// The repository outlives the request that opens it.
		r, err := l.album.repository(context.WithoutCancel(ctx), false)
		if err != nil {
			return nil, err
		}
		if l.files != nil {
			l.files.leave(ctx)
		}
		l.files = &shared{r, l.album.catalogue.State().Number, 1}
	}
	l.files.users++
	return l.files, nil
}

// leave ends the use of a repository. The caller holds l.opening.
func (s *shared) leave(ctx context.Context) error {
	if s.users--; s.users > 0 {
		return nil
	}
	return s.Close(ctx)
}

// Close closes the repository after the last original. No call may follow.
func (l *Live) Close(ctx context.Context) error {
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.files == nil {
		return nil
	}
	return l.files.leave(ctx)
}

// An Original reads a photo's file in pieces, each of which is authenticated.
type Original struct {
	*bufio.Reader
	pieces *pieces
}

func (o *Original) Close() error { return o.pieces.close() }

// pieces reads a file. If a read fails, it goes on in the newest generation, once.
type pieces struct {
	live   *Live
	ctx    context.Context
	file   catalogue.File
	at     int64
	number uint64            // the last generation in which it looked
	files  *shared           // nil if `from` is
	from   io.ReadSeekCloser // nil if it is closed
	again  bool
}

// Original opens a photo's file and reads its beginning.
func (l *Live) Original(ctx context.Context, p *catalogue.Photo) (*Original, error) {
	if len(p.Files) == 0 {
		return nil, fmt.Errorf("reading a photo: %w: its row has no file", cpar.ErrCorrupt)
	}
	o := &Original{pieces: &pieces{live: l, ctx: ctx, file: p.Files[0]}}
	o.Reader = bufio.NewReaderSize(o.pieces, 64<<10)
	if _, err := o.Peek(o.Size()); err != nil && err != io.EOF {
		o.Close()
		return nil, err
	}
	return o, nil
}

func (p *pieces) Read(b []byte) (n int, err error) {
	for {
		if p.from == nil {
			err = p.open()
		}
		if err == nil {
			n, err = p.from.Read(b)
			p.at += int64(n)
			if err != io.EOF {
				err = p.files.Failed("reading from the album", err)
			}
		}
		switch {
		case err == nil || err == io.EOF && p.at == p.file.Size:
			return n, err
		case err == io.EOF:
			return n, fmt.Errorf("reading from the album: %w: the album holds %d bytes of %d", blobs.ErrDamaged, p.at, p.file.Size)
		case n > 0: // the next call meets the error
			return n, nil
		}
		p.close()
		if p.again || p.ctx.Err() != nil {
			return 0, err
		}
		// Another device may have added the photo or moved its bytes meanwhile.
		p.again = true
		if _, e := p.live.Sync(p.ctx); e != nil {
			return 0, err
		}
	}
}

func (p *pieces) open() error {
	s, err := p.live.share(p.ctx, p.number)
	if err != nil {
		return err
	}
	p.files, p.number = s, s.number
	if p.from, err = s.Open(p.ctx, p.file.Object); err == nil {
		_, err = p.from.Seek(p.at, io.SeekStart)
	} else {
		p.from = nil
	}
	if err != nil {
		p.close()
	}
	return err
}

func (p *pieces) close() (err error) {
	if p.from != nil {
		err = p.from.Close()
	}
	if p.files != nil {
		p.live.opening.Lock()
		defer p.live.opening.Unlock()
		err = errors.Join(err, p.files.leave(context.WithoutCancel(p.ctx)))
	}
	p.from, p.files = nil, nil
	return err
}
