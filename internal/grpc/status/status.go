// Package status replaces a package of gRPC. See package grpc.
package status

import "fmt"

func Errorf(_ int, format string, args ...any) error { return fmt.Errorf(format, args...) }
