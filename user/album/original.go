package album

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"cpar"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
)

// A shared repository closes after its last reader has finished.
type shared struct {
	*repository.Repository
	number  uint64 // the generation (version of the album) that it reads
	readers sync.WaitGroup
}

func (s *shared) close(ctx context.Context) error {
	s.readers.Wait()
	return s.Close(ctx)
}

// share returns the open repository to a reader. It opens the newest generation if
// none is open, or if generation `outdated` is open and the view is newer.
func (l *Live) share(ctx context.Context, outdated uint64) (*shared, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.files == nil || l.files.number == outdated && outdated != l.View().Number {
		l.changing.Lock()
		defer l.changing.Unlock()
		ctx := context.WithoutCancel(ctx) // the repository outlives the request that opens it
		r, err := l.album.repository(ctx, false)
		if err != nil {
			return nil, err
		}
		if l.files != nil {
			go l.files.close(ctx)
		}
		l.files = &shared{Repository: r, number: l.album.catalogue.State().Number}
	}
	l.files.readers.Add(1)
	return l.files, nil
}

// Close closes the repository after all originals. No call may follow.
func (l *Live) Close(ctx context.Context) error {
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.files == nil {
		return nil
	}
	return l.files.close(ctx)
}

// An Original reads a photo's file in pieces, each of which is authenticated.
type Original struct {
	*bufio.Reader
	from io.Closer
	done func()
}

func (o *Original) Close() error {
	defer o.done()
	return o.from.Close()
}

// Original opens a photo's file and reads its beginning.
func (l *Live) Original(ctx context.Context, p *catalogue.Photo) (*Original, error) {
	if len(p.Files) == 0 {
		return nil, fmt.Errorf("reading a photo: %w: its row has no file", cpar.ErrCorrupt)
	}
	o, number, err := l.original(ctx, p.Files[0], 0)
	if err == nil || ctx.Err() != nil {
		return o, err
	}
	// Another device may have added the photo or moved its bytes meanwhile.
	if _, again := l.Sync(ctx); again != nil {
		return nil, err
	}
	o, _, err = l.original(ctx, p.Files[0], number)
	return o, err
}

// original opens a file and returns the generation in which it looked.
func (l *Live) original(ctx context.Context, f catalogue.File, outdated uint64) (*Original, uint64, error) {
	s, err := l.share(ctx, outdated)
	if err != nil {
		return nil, 0, err
	}
	from, err := s.Open(ctx, f.Object)
	if err != nil {
		s.readers.Done()
		return nil, s.number, err
	}
	o := &Original{bufio.NewReaderSize(from, 64<<10), from, s.readers.Done}
	if _, err := o.Peek(o.Size()); err != nil && err != io.EOF {
		err = s.Failed("reading from the album", err)
		o.Close()
		return nil, s.number, err
	}
	return o, s.number, nil
}
