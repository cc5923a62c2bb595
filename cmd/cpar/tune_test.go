package main

import "testing"

// TestModelAgain: the command that tune and others print names the network as it was named to them.
func TestModelAgain(t *testing.T) {
	for want, m := range map[string]modelFlags{
		" --model net.onnx":                                     {path: "net.onnx"},
		" --model 'my net.onnx'":                                {path: "my net.onnx", runtime: runtimes[0]},
		" --model n --runtime go":                               {path: "n", runtime: "go"},
		" --model n --preprocessing clip --runtime onnxruntime": {path: "n", preprocessing: "clip", runtime: "onnxruntime"},
	} {
		if got := m.again(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
