//go:build !linux

package durable

import "errors"

func renameNoReplace(string, string) error { return errors.ErrUnsupported }
