// Package grpc declares the part of gRPC that kopia compiles against, and
// connects to nothing. go.mod puts this module in the place of gRPC.
//
// kopia needs gRPC only as a client of its own server. An album hands kopia an
// open storage instead (package repository), so that client is never called.
// gRPC would add 70 packages to cpar, and the html/template in its debugging
// pages would keep all exported methods of cpar.
package grpc

import "errors"

const SupportPackageIsVersion9 = true

var errAbsent = errors.New("gRPC is not part of this program")

type (
	CallOption any
	DialOption any

	ClientConn                        struct{}
	ClientConnInterface               = *ClientConn
	GenericClientStream[Req, Res any] struct{ ClientStream any }
	BidiStreamingClient[Req, Res any] = *GenericClientStream[Req, Res]

	ServerStream                      any
	GenericServerStream[Req, Res any] struct{ ServerStream }
	BidiStreamingServer[Req, Res any] = *GenericServerStream[Req, Res]

	ServiceRegistrar interface{ RegisterService(*ServiceDesc, any) }
	ServiceDesc      struct {
		ServiceName           string
		HandlerType, Metadata any
		Methods               []MethodDesc
		Streams               []StreamDesc
	}
	MethodDesc any
	StreamDesc struct {
		StreamName                   string
		Handler                      func(any, ServerStream) error
		ServerStreams, ClientStreams bool
	}
)

func NewClient(string, ...DialOption) (*ClientConn, error) { return nil, errAbsent }
func (*ClientConn) Close() error                           { return nil }
func (*ClientConn) NewStream(any, *StreamDesc, string, ...CallOption) (any, error) {
	return nil, errAbsent
}

func (*GenericClientStream[Req, Res]) Send(*Req) error     { return errAbsent }
func (*GenericClientStream[Req, Res]) Recv() (*Res, error) { return nil, errAbsent }
func (*GenericClientStream[Req, Res]) CloseSend() error    { return nil }

func WithPerRPCCredentials(any) DialOption            { return nil }
func WithTransportCredentials(any) DialOption         { return nil }
func WithDefaultCallOptions(...CallOption) DialOption { return nil }
func MaxCallRecvMsgSize(int) CallOption               { return nil }
func MaxCallSendMsgSize(int) CallOption               { return nil }
func StaticMethod() CallOption                        { return nil }
