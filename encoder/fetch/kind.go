package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// pickles are the extensions of files that run a program when Python's pickle
// module opens them. Hugging Face uses .bin for PyTorch files.
var pickles = []string{".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt", ".joblib"}

const adviceExport = "look for the network in ONNX format (.onnx), or export it with the framework that it was made for (torch.onnx.export, optimum-cli export onnx)"

// CheckName refuses a file whose extension belongs to a pickle or to another
// model format than ONNX.
func CheckName(name string) error {
	ending := strings.ToLower(filepath.Ext(name))
	switch {
	case slices.Contains(pickles, ending):
		return hint.Add(fmt.Errorf("%w: %s ends in %s: such files hold a program (a pickle), and are refused", cpar.ErrInput, sanitize.Text(filepath.Base(name)), ending), adviceExport)
	case ending == ".safetensors" || ending == ".h5" || ending == ".tflite":
		return hint.Add(fmt.Errorf("%w: %s is not an ONNX file", cpar.ErrInput, sanitize.Text(filepath.Base(name))), adviceExport)
	}
	return nil
}

// CheckFile refuses a file whose first bytes rule out ONNX.
func CheckFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return checkHead(head[:n])
}

const headBytes = 512

func checkHead(head []byte) error {
	refuse := func(what string) error {
		return hint.Add(fmt.Errorf("%w: it is %s", cpar.ErrInput, what), adviceExport)
	}
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: it is empty", cpar.ErrInput)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && bytes.Contains(head, []byte(".pkl")):
		return refuse("a PyTorch file, which holds a program (a pickle)")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return refuse("a zip archive, not an ONNX file")
	case head[0] == 0x80 && len(head) > 1 && head[1] <= 5: // opcode PROTO with its version
		return refuse("a pickle, which holds a program")
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return hint.Add(fmt.Errorf("%w: it is a Git LFS pointer, not the file itself", cpar.ErrInput), "take the address of the file's content, or run: git lfs pull")
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")):
		return hint.Add(fmt.Errorf("%w: it is a web page, not an ONNX file", cpar.ErrInput), "take the address of the file itself, not of the page that shows it")
	case !onnx(head):
		return refuse("not an ONNX file")
	}
	return nil
}

// onnx reports whether bytes can be the start of a ModelProto (onnx.proto),
// which begins with a known field of the right wire type.
func onnx(head []byte) bool {
	const number, byteString = 0, 2
	tag, _ := binary.Uvarint(head)
	switch tag >> 3 {
	case 1, 5:
		return tag&7 == number
	case 2, 3, 4, 6, 7, 8, 14, 20, 25, 26:
		return tag&7 == byteString
	}
	return false
}
