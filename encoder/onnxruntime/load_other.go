//go:build static || android || !(linux || darwin || windows) || !(amd64 || arm64)

package onnxruntime

import "errors"

var errBuild = errors.New("this build of the program cannot load libraries")

type functionTable struct{}

func usualNames() []string { return []string{"libonnxruntime"} }

func loadLibrary(string) (uintptr, error) { return 0, errBuild }

func closeLibrary(uintptr) {}

func start(string, uintptr) (*Library, error) { return nil, errBuild }

func (l *Library) load([]byte) (uintptr, error) { return 0, errBuild }

func (l *Library) free(uintptr) {}

func (s *Session) run([]byte) ([]float32, []int, error) { return nil, nil, errBuild }
