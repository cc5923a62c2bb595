// Package heif decodes HEIC photos in a sandbox.
//
//	file ─▶ Decode ─▶ image.YCbCr, Gray, RGBA or NRGBA, rotated
//	          │ libheif and libde265, compiled to WebAssembly (heif.wasm.gz)
//	          └ bounded memory, no files, no clock, two minutes
//
// HEVC is too complex to reimplement, and a photo could exploit vulnerabilities
// of a decoder. In the sandbox, a compromised decoder can access only memory
// that is discarded afterwards.
//
// heif.wasm.gz is a file of github.com/gen2brain/heic v0.4.5, built from
// libheif 1.18.2 and libde265 1.0.15. Only tests use that module's Go code,
// because it gives the decoder four gigabytes and unlimited time, and prefers
// libheif.so outside a sandbox.
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

// decodeTimeout suffices for the slowest processors. A 12-megapixel photo takes
// about a second, or ten seconds where wazero (WebAssembly) has no compiler.
const decodeTimeout = 2 * time.Minute

var ErrDamaged = errors.New("libheif cannot decode it")

type compiledDecoder struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
}

// compile compiles the decoder at the first photo, in half a second.
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

// Decode decodes a photo with at most `memory` bytes for the sandbox and calls
// function `use` with the image. The pixels are valid until that function
// returns. YCbCr values are as stored, so the caller must apply the range that
// the file declares.
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
	least := int64(m.code.ExportedMemories()["memory"].Min()) << 16 // Min counts pages of 64 KiB
	room, err := newRegion(memory, least)
	if err != nil {
		return err
	}
	defer room.Free()
	ctx = experimental.WithMemoryAllocator(ctx, room)
	// Unnamed instances can run concurrently. The default configuration gives
	// the decoder no files, arguments, environment or standard streams.
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

type decoder struct {
	ctx    context.Context
	module api.Module
}

func (d *decoder) call(name string, args ...uint64) (uint32, error) {
	result, err := d.module.ExportedFunction(name).Call(d.ctx, args...)
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n") // the rest is a WebAssembly stack
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

func (d *decoder) decode(args []uint64) error {
	ok, err := d.call("decode", args...)
	if err == nil && ok == 0 {
		return ErrDamaged
	}
	return err
}

const (
	width = iota
	height
	colourSpace
	chroma
	premultiplied
	headWords
)

// picture calls the module's `int decode(in, size, config_only, &width, …,
// &premultiplied, out)` twice, for the header and for the pixels.
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
