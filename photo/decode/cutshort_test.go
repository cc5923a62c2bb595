package decode

import (
	"os"
	"testing"
)

func TestCutShort(t *testing.T) {
	for _, name := range []string{"ycbcr420.jpg", "progressive.jpg", "cmyk-adobe.jpg"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		// A preview with an end of its own, in a segment.
		preview := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 8, 'E', 'x', 0xff, 0xd8, 0xff, 0xd9}, b[2:]...)
		for _, data := range [][]byte{b, append(append([]byte{}, b...), "a film behind it"...), preview} {
			if Truncated(data) {
				t.Errorf("%s: %d bytes are whole", name, len(data))
			}
		}
		for _, data := range [][]byte{b[:len(b)-2], b[:len(b)/2], preview[:len(preview)-20], append(append([]byte{}, b[:len(b)-9]...), make([]byte, 500)...)} {
			if !Truncated(data) {
				t.Errorf("%s: %d bytes are cut short", name, len(data))
			}
		}
	}
	if Truncated([]byte("\x89PNG\r\n\x1a\n")) || Truncated(nil) {
		t.Error("it is no JPEG")
	}
}
