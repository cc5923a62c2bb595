package measure

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/durable"
	"cpar/model/feature"
	"cpar/user"
)

// Features of augmented photos are stored in the feature cache, augmentChunk
// images per file, so that an interrupted run loses at most one file.
//
//	augmented-DIGEST-00003.bin   magic "cparaug2" · images (4 bytes) · per image:
//	    rgb hsv lab gabor gaborq haar haarq, where gaborq and haarq are bytes
//	    and the others are their maximum (float32) and 16 bits per value as a
//	    share of it · CRC-32C of all preceding bytes; little-endian
//
// DIGEST covers the photos' names and bytes, the seed and the version of
// package feature. Sixteen bits are finer than the levels that features are
// quantised to.
const (
	augmentChunk = 500
	augmentMagic = "cparaug2"
	// augmentedSize is the encoded size of an image.
	augmentedSize = 6*4 + 2*(3*feature.ColorDim+feature.GaborDim+feature.HaarDim+feature.PatchDim) + feature.GaborDim + feature.HaarDim
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// augmented returns the first n images of the series of augmented photos.
func (l *Lab) augmented(ctx context.Context, c *Corpus, n int) ([]user.Photo, error) {
	if len(c.TrainItems) == 0 {
		return nil, fmt.Errorf("augmenting photos: %w: the collection has no files", cpar.ErrInput)
	}
	digest, err := l.Digest(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", digest, AugmentSeed, feature.Version))
	out := make([]user.Photo, 0, n)
	for chunk := 0; len(out) < n; chunk++ {
		path := ""
		if l.Cache != "" {
			path = filepath.Join(l.Cache, fmt.Sprintf("augmented-%s-%05d.bin", hex.EncodeToString(sum[:8]), chunk))
		}
		images, err := l.augmentedChunk(ctx, c, path, chunk*augmentChunk, n)
		if err != nil {
			return nil, err
		}
		out = append(out, images[:min(len(images), n-len(out))]...)
	}
	return out, nil
}

// augmentedChunk reads a chunk or creates it. Fresh features are encoded and
// decoded too, so that a second run uses identical ones.
func (l *Lab) augmentedChunk(ctx context.Context, c *Corpus, path string, first, total int) ([]user.Photo, error) {
	if path != "" {
		if b, err := os.ReadFile(path); err == nil {
			if images, err := decodeAugmented(b); err == nil && len(images) == augmentChunk {
				return withKeywords(images, c, first), nil
			}
		}
	}
	made, err := augmentPixels(ctx, c.TrainItems, first, augmentChunk, func(done int) {
		if l.Progress != nil {
			l.Progress("augmenting photos", min(first+done, total), total)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("augmenting photos: %w", err)
	}
	b, err := encodeAugmented(made)
	if err != nil {
		return nil, fmt.Errorf("augmenting photos: %w", err)
	}
	if path != "" {
		if err := durable.WriteFile(path, b, 0o600); err != nil {
			return nil, fmt.Errorf("keeping features of augmented photos: %w", err)
		}
	}
	images, err := decodeAugmented(b)
	if err != nil {
		return nil, err
	}
	return withKeywords(images, c, first), nil
}

func withKeywords(vectors []*feature.Vectors, c *Corpus, first int) []user.Photo {
	out := make([]user.Photo, len(vectors))
	for i, v := range vectors {
		out[i] = user.Photo{Vectors: v, Keywords: c.TrainItems[(first+i)%len(c.TrainItems)].Keywords}
	}
	return out
}

func encodeAugmented(images []user.Photo) ([]byte, error) {
	b := make([]byte, 0, len(augmentMagic)+4+len(images)*augmentedSize+4)
	b = append(b, augmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(images)))
	for _, im := range images {
		for _, block := range feature.Blocks() {
			part := block.Of(im.Vectors)
			if block.Kind == feature.Quantised {
				for _, x := range part {
					b = append(b, byte(int8(x)))
				}
				continue
			}
			largest := float32(0)
			for _, x := range part {
				if !(x >= 0 && x <= math.MaxFloat32) {
					return nil, fmt.Errorf("%w: a feature is %v", cpar.ErrInput, x)
				}
				largest = max(largest, x)
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(largest))
			for _, x := range part {
				share := 0.0
				if largest > 0 {
					share = float64(x) / float64(largest)
				}
				b = binary.LittleEndian.AppendUint16(b, uint16(math.Round(share*math.MaxUint16)))
			}
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

func decodeAugmented(b []byte) ([]*feature.Vectors, error) {
	head := len(augmentMagic) + 4
	fail := func(what string) ([]*feature.Vectors, error) {
		return nil, fmt.Errorf("reading augmented features: %w: %s", cpar.ErrCorrupt, what)
	}
	if len(b) < head+4 || string(b[:len(augmentMagic)]) != augmentMagic {
		return fail("not such a file")
	}
	n := int(binary.LittleEndian.Uint32(b[len(augmentMagic):]))
	if len(b)-head-4 != n*augmentedSize || crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return fail("its length or checksum does not fit")
	}
	out := make([]*feature.Vectors, n)
	b = b[head : len(b)-4]
	for i := range out {
		v := feature.New()
		for _, block := range feature.Blocks() {
			part := block.Of(v)
			if block.Kind == feature.Quantised {
				for j := range part {
					part[j] = float32(int8(b[j]))
				}
				b = b[len(part):]
				continue
			}
			largest := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
			if !(largest >= 0 && largest <= math.MaxFloat32) {
				return fail("a feature is not finite")
			}
			b = b[4:]
			for j := range part {
				part[j] = float32(largest * float64(binary.LittleEndian.Uint16(b[2*j:])) / math.MaxUint16)
			}
			b = b[2*len(part):]
		}
		out[i] = v
	}
	return out, nil
}
