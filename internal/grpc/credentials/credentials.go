// Package credentials replaces a package of gRPC. See package grpc.
package credentials

type TransportCredentials any

func NewTLS(any) TransportCredentials                       { return nil }
func NewClientTLSFromCert(any, string) TransportCredentials { return nil }
