package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"cpar/internal/bearer"
)

// A client is one keep-alive connection that sends requests one after the
// other. It shares the machine with the measured cloud and therefore does
// little work: bodies are computed beforehand, and headers differ only in the
// body's length.
type client struct {
	address string
	head    string // request line and headers, up to the value of Content-Length
	conn    net.Conn
	in      *bufio.Reader
	out     []byte
	body    bytes.Buffer
}

type answer struct {
	status int
	body   []byte
	// `after` is the wait that the cloud asks for.
	after time.Duration
}

// newClient returns a client that connects at its first request. It
// authenticates unless `token` is empty.
func newClient(address, route string, token bearer.Token) *client {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\n", route, address)
	if !token.IsZero() {
		head += "Authorization: Bearer " + token.Reveal() + "\r\n"
	}
	return &client{address: address, head: head + "Content-Type: application/octet-stream\r\nContent-Length: "}
}

func (c *client) connect(ctx context.Context) (err error) {
	if c.conn != nil {
		return nil
	}
	if c.conn, err = new(net.Dialer).DialContext(ctx, "tcp", c.address); err != nil {
		c.conn = nil
		return err
	}
	if c.in == nil {
		c.in = bufio.NewReaderSize(nil, 8<<10)
	}
	c.in.Reset(c.conn)
	return nil
}

// exchange sends a request and reads the whole response. If ctx ends, it closes
// the connection. After an error, the next request reconnects.
func (c *client) exchange(ctx context.Context, a *pooledRequest) (answer, error) {
	if err := c.connect(ctx); err != nil {
		return answer{}, err
	}
	conn := c.conn // needed because close clears c.conn
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	got, keep, err := c.roundTrip(a)
	if !stop() || err != nil || !keep {
		c.close()
	}
	return got, err
}

func (c *client) roundTrip(a *pooledRequest) (got answer, keep bool, err error) {
	c.out = append(c.out[:0], c.head...)
	c.out = strconv.AppendInt(c.out, int64(len(a.body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	// An overloaded cloud may respond before it has read the body and then stop
	// reading. The response is more informative than the write error.
	_, sent := (&net.Buffers{c.out, a.body}).WriteTo(c.conn)
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		if sent != nil {
			err = sent
		}
		return got, false, err
	}
	defer resp.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(resp.Body); err != nil {
		return got, false, err
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return answer{resp.StatusCode, c.body.Bytes(), time.Duration(seconds) * time.Second}, sent == nil && !resp.Close, nil
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
