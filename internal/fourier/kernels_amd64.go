//go:build !purego

package fourier

import "golang.org/x/sys/cpu"

//go:generate go run ./gen

func supported() string {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return "AVX2"
	}
	return ""
}
