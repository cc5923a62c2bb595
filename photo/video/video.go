// Package video extracts frames from videos.
//
//	a video ─▶ ffmpeg, seeking ─▶ a pipe ─▶ PNG files in memory
//
// ffmpeg is a program that the user has installed. It receives the name of the
// video and no key, opens only this file, and writes frames to a pipe, never to
// disk.
package video

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo"
)

const (
	// perVideo is the number of frames per video. Each costs a request to the
	// server, and more frames rarely show anything new.
	perVideo = 5
	// maxSide is the maximum width of a frame in pixels. No feature needs more.
	maxSide = 1024
	// maxFrame bounds the bytes that one run of ffmpeg returns, and patience
	// bounds its time, in case of a hostile video or a stuck drive.
	maxFrame = 64 << 20
	patience = time.Minute
	// containers lists ffmpeg's demultiplexers for the extensions of
	// photo.IsVideo. Others could open further files.
	containers = "mov,mp4,matroska,webm,avi"
)

func Available() bool {
	_, err := exec.LookPath("ffmpeg")
	return err == nil
}

// Frames returns up to five frames of a video as PNG files, in order and evenly
// spaced. The first is at a tenth of the length. If the length is unknown,
// Frames returns the frame at the start.
func Frames(ctx context.Context, path string) ([][]byte, error) {
	frames, err := frames(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading video: %w: %w", cpar.ErrInput, err)
	}
	return frames, nil
}

func frames(ctx context.Context, path string) (all [][]byte, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if !Available() {
		return nil, hint.Add(errors.New("ffmpeg is not on the path"), "install ffmpeg")
	}
	length, err := lengthOf(ctx, abs)
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	for i := range time.Duration(perVideo) {
		times = append(times, length*(2*i+1)/(2*perVideo))
	}
	for i, at := range append(times, 0) {
		switch start := i == len(times); {
		case length == 0 && !start, start && len(all) > 0:
			continue // try the start only if the length is unknown or no other frame was found
		}
		png, said, err := run(ctx, abs, []string{"-ss", fmt.Sprintf("%.3f", at.Seconds())},
			"-map", "0:V:0", "-frames:v", "1", "-vf", fmt.Sprintf("scale='min(%d,iw)':-2", maxSide), "-c:v", "png", "-f", "image2pipe", "pipe:1")
		if err != nil {
			return nil, failure(abs, said, err)
		}
		if len(png) > 0 { // empty if the time is after the last frame, because the stated length is too long
			all = append(all, png)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it has no frame")
	}
	return all, nil
}

var duration = regexp.MustCompile(`Duration: (\d+):(\d\d):(\d\d)\.(\d\d)`)

// lengthOf returns the length of a video, or 0 if it is unknown. ffmpeg prints
// the length and exits with an error, because the command names no output.
func lengthOf(ctx context.Context, path string) (time.Duration, error) {
	_, said, err := run(ctx, path, nil)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if !bytes.Contains(said, []byte("Input #0")) {
		return 0, failure(path, said, err)
	}
	m := duration.FindSubmatch(said)
	if m == nil {
		return 0, nil
	}
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(string(m[i+1])) // cannot fail, because m holds digits
	}
	return time.Duration(((n[0]*60+n[1])*60+n[2])*100+n[3]) * 10 * time.Millisecond, nil
}

// run runs ffmpeg on one file, with options before and after the file. It
// returns ffmpeg's output and its messages (said).
func run(ctx context.Context, path string, before []string, after ...string) (out, said []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := append([]string{"-hide_banner", "-nostdin", "-threads", "1", "-protocol_whitelist", "file", "-format_whitelist", containers}, before...)
	cmd := exec.CommandContext(ctx, "ffmpeg", append(append(args, "-i", "file:"+path), after...)...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")} // no other variables, because they may hold secrets
	stdout, stderr := &bounded{left: maxFrame}, &bounded{left: 1 << 20}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return stdout.all, stderr.all, err
}

type bounded struct {
	all  []byte
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("ffmpeg writes too much")
	}
	b.all = append(b.all, p...)
	return len(p), nil
}

// failure returns the last line of ffmpeg's messages as an error, without the
// path, which the caller adds.
func failure(path string, said []byte, err error) error {
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	if last := lines[len(lines)-1]; len(last) > 0 && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ffmpeg cannot read it (%s); copy it again from its source", sanitize.Text(strings.TrimPrefix(string(last), "file:"+path+": ")))
	}
	return err
}

// Digest returns a digest of a video's size and of samples of its bytes,
// because reading gigabytes takes minutes. An equal digest identifies a moved
// video but does not prove that two videos are equal.
func Digest(path string) (digest [32]byte, err error) {
	const samples, sample = 16, 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return digest, fmt.Errorf("reading video: %w: %w", cpar.ErrInput, photo.Cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return digest, fmt.Errorf("reading video: %w: %w", cpar.ErrInput, photo.Cause(err))
	}
	h := sha256.New()
	h.Write([]byte{'v'})
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(info.Size())))
	for i := range int64(samples) {
		at := max(0, info.Size()-sample) * i / (samples - 1)
		if _, err := io.Copy(h, io.NewSectionReader(f, at, sample)); err != nil {
			return digest, fmt.Errorf("reading video: %w: %w", cpar.ErrInput, photo.Cause(err))
		}
	}
	h.Sum(digest[:0])
	return digest, nil
}
