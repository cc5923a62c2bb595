// Command gen writes the kernels of package modq in Go assembly for each
// processor level.
//
//	go generate cpar/internal/modq
//
// No kernel calls a function, has a stack frame, or uses the words that it
// multiplies in branches or addresses. A prefetch may name an address beyond a
// slice, because prefetches never fault.
package main

import "cpar/internal/kernelgen"

func main() { kernelgen.Main(generate) }

var at = kernelgen.At

func generate() (map[string][]byte, error) {
	return kernelgen.Files("modq", map[string]func(kernelgen.Kernels){
		"avx512": func(k kernelgen.Kernels) { kernels{k}.avx512() },
		"avx2":   func(k kernelgen.Kernels) { kernels{k}.avx2() },
	})
}

type kernels struct{ kernelgen.Kernels }
