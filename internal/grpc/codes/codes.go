// Package codes replaces a package of gRPC. See package grpc.
package codes

const Unimplemented = 12
