package video

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/photo"
)

// need skips without ffmpeg. CPAR_FFMPEG=required turns the skip into a
// failure.
func need(t *testing.T) {
	t.Helper()
	if Available() {
		return
	}
	if os.Getenv("CPAR_FFMPEG") == "required" {
		t.Fatal("ffmpeg is not on the path")
	}
	t.Skip("ffmpeg is not on the path")
}

// film makes a video of ten seconds that turns from red to green after six.
func film(t *testing.T, name string, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"-v", "error", "-f", "lavfi", "-i", "color=red:s=1280x720:r=2:d=6", "-f", "lavfi", "-i", "color=lime:s=1280x720:r=2:d=4",
		"-filter_complex", "[0][1]concat"}, append(more, "file:"+path)...)
	if out, err := exec.Command("ffmpeg", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func TestFramesAreSpreadOverVideo(t *testing.T) {
	need(t)
	for _, name := range []string{"-a:b%d.mp4", "a.mov", "a.m4v", "a.mkv", "a.avi", "a.webm"} {
		var fast []string
		if name == "a.webm" {
			fast = []string{"-c:v", "libvpx", "-deadline", "realtime"}
		}
		path := film(t, name, fast...)
		if !photo.IsVideo(path) {
			t.Errorf("%s is no video", name)
		}
		frames, err := Frames(t.Context(), path)
		if err != nil || len(frames) != perVideo {
			t.Fatalf("%s: %d frames, %v", name, len(frames), err)
		}
		for i, b := range frames {
			m, err := png.Decode(bytes.NewReader(b))
			if err != nil || m.Bounds().Dx() != maxSide || m.Bounds().Dy() != maxSide*9/16 {
				t.Fatalf("%s: frame %d: %v, %v", name, i, m.Bounds(), err)
			}
			c := color.RGBAModel.Convert(m.At(500, 300)).(color.RGBA)
			if red := c.R > 200 && c.G < 60; red != (i < 3) {
				t.Errorf("%s: frame %d is %v", name, i, c)
			}
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: frames on disk: %v, %v", name, entries, err)
		}
	}
}

func TestFramesRefuseOtherFiles(t *testing.T) {
	need(t)
	dir := t.TempDir()
	secret := film(t, "secret.mp4")
	for name, content := range map[string]string{
		"junk.mp4":     "junk",
		"empty.mov":    "",
		"playlist.mp4": "#EXTM3U\n#EXTINF:10,\nfile://" + secret + "\n",
		"concat.mkv":   "ffconcat version 1.0\nfile '" + secret + "'\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if frames, err := Frames(t.Context(), path); !errors.Is(err, cpar.ErrInput) || frames != nil {
			t.Errorf("%s: %d frames, %v", name, len(frames), err)
		}
	}
	b, err := os.ReadFile(film(t, "half.mp4", "-movflags", "+faststart"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "moovless.mp4"), b[len(b)/2:], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if frames, err := Frames(t.Context(), filepath.Join(dir, "moovless.mp4")); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	if frames, err := Frames(t.Context(), film(t, "sound.mp4", "-t", "0.01")); err != nil || len(frames) == 0 {
		t.Errorf("one frame: %d, %v", len(frames), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Frames(ctx, secret); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A program in the place of ffmpeg that never stops writing.
func TestFramesBoundWhatIsRead(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf 'Input #0\\n Duration: N/A\\n' >&2\ncase \"$*\" in *pipe:1) exec cat /dev/zero;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("this system has no shell")
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if _, err := Frames(t.Context(), filepath.Join(dir, "a.mp4")); err == nil {
		t.Error("an endless frame")
	}
}

func TestFramesNeedFFmpeg(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Frames(t.Context(), "a.mp4"); !errors.Is(err, cpar.ErrInput) || hint.Of(err) != "install ffmpeg" {
		t.Errorf("%v, %q", err, hint.Of(err))
	}
}

func TestDigestNoticesChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	of := func(content string) [32]byte {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Digest(path)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	long := strings.Repeat("0123456789", 1<<18)
	seen := map[[32]byte]bool{}
	for _, content := range []string{"", "a", "b", long, long[1:], "x" + long[1:], long[:len(long)-1] + "x", long[:len(long)/3] + strings.Repeat("x", 300_000) + long[len(long)/3+300_000:]} {
		if d := of(content); seen[d] || d != of(content) {
			t.Errorf("%d bytes have the digest of others, or two", len(content))
		} else {
			seen[d] = true
		}
	}
}
