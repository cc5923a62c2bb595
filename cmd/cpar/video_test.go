package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The story of videos stops half way without ffmpeg.
func TestVideosNeedFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		if os.Getenv("CPAR_FFMPEG") == "required" {
			t.Fatal("ffmpeg is not on the path")
		}
		t.Skip("ffmpeg is not on the path")
	}
}

// film makes a video of painted scenes.
func film(ts *testscript.TestScript, _ bool, args []string) {
	var frames []byte
	for _, n := range args[1:] {
		jpg, _, err := paintOnce(number(ts, n))
		ts.Check(err)
		frames = append(frames, jpg...)
	}
	cmd := exec.Command("ffmpeg", "-v", "error", "-f", "image2pipe", "-c:v", "mjpeg", "-framerate", "1", "-i", "pipe:0", "-r", "5", "-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2", ts.MkAbs(args[0]))
	cmd.Stdin = bytes.NewReader(frames)
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v: %s", err, out)
	}
}

// withoutFFmpeg runs cpar with a path that holds nothing.
func withoutFFmpeg(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, "cpar", args...)
	cmd.Env = append(cmd.Env, "PATH="+ts.MkAbs("temp"))
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Run())
}
