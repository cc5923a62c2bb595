//go:build !unix

package main

import "github.com/rogpeppe/go-internal/testscript"

func terminal(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("no terminals here") }
