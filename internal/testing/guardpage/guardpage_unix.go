//go:build unix

// Package guardpage gives tests of kernels memory that ends or begins at an
// inaccessible page, so that assembly that reads beyond a slice crashes the
// test.
package guardpage

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bytes returns n bytes that end just before an inaccessible page, or begin
// just after one. They are aligned to eight bytes if n is a multiple of eight.
func Bytes(t testing.TB, n int, atEnd bool) []byte {
	t.Helper()
	page := unix.Getpagesize()
	size := (n + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip("no pages available: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, forbidden := range [][]byte{m[:page], m[page+size:]} {
		if err := unix.Mprotect(forbidden, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if atEnd {
		start += size - n
	}
	return m[start : start+n : start+n]
}

// Slice is Bytes for n zeros of another type.
func Slice[T any](t testing.TB, n int, atEnd bool) []T {
	t.Helper()
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(Bytes(t, n*int(unsafe.Sizeof(zero)), atEnd)))), n)
}
