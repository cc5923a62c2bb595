// Package heif decodes HEIC photos in a sandbox.
//
//	file ─▶ Decode ─▶ image.YCbCr, Gray, RGBA or NRGBA, turned as the file says
//	          │ libheif and libde265, compiled to WebAssembly (heif.wasm.gz)
//	          └ memory that the caller bounds, no files, no clock, two minutes
//
// HEVC is too large to write again, and its decoders have had holes that a photo could
// open. In the sandbox such a photo reaches the decoder's own memory, which goes when it is
// done, and nothing else.
//
// heif.wasm.gz is the file of github.com/gen2brain/heic v0.4.5, whose Makefile builds it of
// libheif 1.18.2 and libde265 1.0.15. That module's own Go code is used in tests only: it
// gives the decoder four gigabytes and all the time that it wants, and rather loads whatever
// libheif.so the system has, outside any sandbox, when a program that links it starts.
package heif

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"image"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed heif.wasm.gz
var compressed []byte

// patience is for the slowest processors: a photo of 12 megapixels takes about a second, and
// some ten where wazero has no compiler. A file that takes longer was made to.
const decodeTimeout = 2 * time.Minute

// ErrDamaged says that the decoder could not make a picture of a file.
var ErrDamaged = errors.New("libheif cannot decode it")

// machine is the compiled decoder; photos share it, but none of its memory.
type compiledDecoder struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
}

// compile takes half a second, at the first photo.
var compile = sync.OnceValues(func() (*compiledDecoder, error) {
	ctx := context.Background()
	unpacked, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unpacking libheif: %w", err)
	}
	binary, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("unpacking libheif: %w", err)
	}
	r := wazero.NewRuntime(ctx)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, fmt.Errorf("compiling libheif: %w", err)
	}
	code, err := r.CompileModule(experimental.WithFunctionListenerFactory(ctx, experimental.FunctionListenerFactoryFunc(watching)), binary)
	if err != nil {
		return nil, fmt.Errorf("compiling libheif: %w", err)
	}
	return &compiledDecoder{r, code}, nil
})

// Decode decodes a photo in at most `memory` bytes beside those of the program, and lends the
// picture to use: it lies in the sandbox, which goes when use returns. YCbCr is as stored:
// the caller converts it by what the file says of its range.
func Decode(data []byte, memory int64, use func(image.Image) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), decodeTimeout)
	defer cancel()
	return decode(ctx, data, memory, use)
}

func decode(ctx context.Context, data []byte, memory int64, use func(image.Image) error) error {
	m, err := compile()
	if err != nil {
		return err
	}
	least := int64(m.code.ExportedMemories()["memory"].Min()) << 16 // in pages
	room, err := newRegion(memory, least)
	if err != nil {
		return err
	}
	defer room.Free()
	ctx = experimental.WithMemoryAllocator(ctx, room)
	// Without a name instances do not collide; its default configuration has no files, no
	// arguments, no environment, and standard streams that lead nowhere.
	instance, err := m.runtime.InstantiateModule(ctx, m.code, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	defer instance.Close(ctx)
	d := &decoder{ctx: ctx, module: instance}
	img, err := d.picture(data)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w in %v", ErrDamaged, decodeTimeout)
		}
		return err
	}
	return use(img)
}

// A decoder is one instance, for one photo.
type decoder struct {
	ctx    context.Context
	module api.Module
}

func (d *decoder) call(name string, args ...uint64) (uint32, error) {
	result, err := d.module.ExportedFunction(name).Call(d.ctx, args...)
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n") // the rest is a stack of numbers
		return 0, fmt.Errorf("%w (%s: %s)", ErrDamaged, name, reason)
	}
	return uint32(result[0]), nil
}

func (d *decoder) alloc(size int64) (uint32, error) {
	if size < 0 || size > 1<<31-1 {
		return 0, fmt.Errorf("%w: it needs %d bytes", ErrDamaged, size)
	}
	at, err := d.call("malloc", uint64(size))
	if err == nil && at == 0 {
		err = fmt.Errorf("%w in the memory that its size justifies", ErrDamaged)
	}
	return at, err
}

// decode calls the function of that name, which returns 0 when it fails.
func (d *decoder) decode(args []uint64) error {
	ok, err := d.call("decode", args...)
	if err == nil && ok == 0 {
		return ErrDamaged
	}
	return err
}

// The words that decode fills in.
const (
	width = iota
	height
	colourSpace
	chroma
	premultiplied
	headWords
)

// picture calls `int decode(in, size, config_only, &width, …, &premultiplied, out)` twice:
// for the head, and for the pixels.
func (d *decoder) picture(data []byte) (image.Image, error) {
	in, err := d.alloc(int64(len(data)))
	if err != nil {
		return nil, err
	}
	if !d.module.Memory().Write(in, data) {
		return nil, ErrDamaged
	}
	words, err := d.alloc(4 * headWords)
	if err != nil {
		return nil, err
	}
	args := []uint64{uint64(in), uint64(len(data)), 1}
	for i := range uint64(headWords) {
		args = append(args, uint64(words)+4*i)
	}
	args = append(args, 0)
	var head [headWords]uint32
	if err := d.decode(args); err != nil {
		return nil, err
	}
	for i := range head {
		head[i], _ = d.module.Memory().ReadUint32Le(words + 4*uint32(i))
	}
	img, size, err := layout(head)
	if err != nil {
		return nil, err
	}
	out, err := d.alloc(size)
	if err != nil {
		return nil, err
	}
	args[2], args[len(args)-1] = 0, uint64(out)
	if err := d.decode(args); err != nil {
		return nil, err
	}
	pixels, ok := d.module.Memory().Read(out, uint32(size))
	if !ok {
		return nil, ErrDamaged
	}
	return img(pixels), nil
}
