package blob

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

type s3Driver struct {
	client *s3.Client
	bucket string
	// absent makes a put fail if the object exists.
	absent func(*s3.PutObjectInput, *s3.Options)
}

func openS3(p bucketConfig) (driver, error) {
	id, key := p.credential("AWS_ACCESS_KEY_ID"), p.credential("AWS_SECRET_ACCESS_KEY")
	if id == "" || key == "" {
		return nil, missingCredentials("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	}
	p.region = cmp.Or(p.region, p.credential("AWS_REGION"), "us-east-1")
	client := newS3(p, credentials.NewStaticCredentialsProvider(id, key, p.credential("AWS_SESSION_TOKEN")), nil)
	return &s3Driver{client, p.bucket, func(in *s3.PutObjectInput, _ *s3.Options) { in.IfNoneMatch = aws.String("*") }}, nil
}

func newS3(p bucketConfig, c aws.CredentialsProvider, signer s3.HTTPSignerV4) *s3.Client {
	o := s3.Options{
		Region: p.region, Credentials: c, HTTPClient: p.client, UsePathStyle: p.pathStyle,
		Retryer: aws.NopRetryer{}, // retry.go retries for all providers
		// The newer checksums of S3 are off, because not all compatible services
		// support them. All services check the signed SHA-256 of a PUT.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		HTTPSignerV4:               signer,
	}
	if p.endpoint != "" {
		o.BaseEndpoint = aws.String(p.endpoint)
	}
	return s3.New(o)
}

func (d *s3Driver) get(ctx context.Context, name string, from, to int64) (io.ReadCloser, int64, error) {
	in := &s3.GetObjectInput{Bucket: &d.bucket, Key: &name}
	switch {
	case to > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1))
	case from > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	out, err := d.client.GetObject(ctx, in)
	if err != nil {
		return nil, 0, s3Error(err)
	}
	size := aws.ToInt64(out.ContentLength)
	if in.Range != nil {
		if size, err = sizeOfRange(aws.ToString(out.ContentRange), from); err != nil {
			out.Body.Close()
			return nil, 0, err
		}
	}
	return out.Body, size, nil
}

// sizeOfRange returns the total size in a Content-Range header such as "bytes
// 5-9/20". The range must start at offset `from`.
func sizeOfRange(header string, from int64) (int64, error) {
	span, total, ok := strings.Cut(header, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if !ok || err != nil || !strings.HasPrefix(span, fmt.Sprintf("bytes %d-", from)) {
		return 0, refused("asked for bytes from %d on, it sent others", from)
	}
	return size, nil
}

func (d *s3Driver) put(ctx context.Context, name string, body io.ReadSeeker, size int64, sum [sha256.Size]byte, ifAbsent bool) error {
	in := &s3.PutObjectInput{Bucket: &d.bucket, Key: &name, Body: body, ContentLength: &size,
		ContentType: aws.String("application/octet-stream")}
	_, err := d.client.PutObject(ctx, in, func(o *s3.Options) {
		if ifAbsent {
			d.absent(in, o)
		}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("digest is known", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				return next.HandleInitialize(v4.SetPayloadHash(ctx, hex.EncodeToString(sum[:])), in)
			}), middleware.Before)
		})
	})
	return s3Error(err)
}

func (d *s3Driver) list(ctx context.Context, prefix string, folders bool, token string) (page []Object, next string, err error) {
	in := &s3.ListObjectsV2Input{Bucket: &d.bucket, Prefix: &prefix}
	if folders {
		in.Delimiter = aws.String("/")
	}
	if token != "" {
		in.ContinuationToken = &token
	}
	out, err := d.client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, "", s3Error(err)
	}
	for _, o := range out.Contents {
		page = append(page, Object{aws.ToString(o.Key), aws.ToInt64(o.Size), aws.ToTime(o.LastModified)})
	}
	for _, f := range out.CommonPrefixes {
		page = append(page, Object{Name: aws.ToString(f.Prefix)})
	}
	if aws.ToBool(out.IsTruncated) {
		next = aws.ToString(out.NextContinuationToken)
	}
	return page, next, nil
}

func (d *s3Driver) remove(ctx context.Context, name string) error {
	_, err := d.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &d.bucket, Key: &name})
	return s3Error(err)
}

func s3Error(err error) error {
	if err == nil {
		return nil
	}
	code := ""
	if api := smithy.APIError(nil); errors.As(err, &api) {
		code = api.ErrorCode()
	}
	if answer := (*smithyhttp.ResponseError)(nil); errors.As(err, &answer) && answer.HTTPStatusCode() != 0 {
		return statusError(answer.HTTPStatusCode(), code)
	}
	return connectionError(err)
}

func statusError(status int, code string) error {
	if len(code) > 60 {
		code = "" // untrusted text stays out of the log
	}
	switch {
	case status/100 == 2:
		return away("its answer broke off")
	case code == "NoSuchBucket" || code == "ContainerNotFound":
		return refused("there is no such bucket")
	case status == http.StatusNotFound:
		return ErrNotFound
	case status == http.StatusPreconditionFailed || code == "BlobAlreadyExists":
		return ErrExists
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented,
		code == "ConditionalRequestConflict", code == "OperationAborted", code == "RequestTimeout",
		// These codes mean that the bytes changed in transit, because the sender
		// had checked them.
		code == "BadDigest", code == "XAmzContentSHA256Mismatch", code == "Md5Mismatch", code == "Crc64Mismatch":
		return away("status %d %s", status, code)
	case code == "RequestTimeTooSkewed":
		return refused("status %d %s: the clock of this machine is wrong", status, code)
	}
	return refused("status %d %s", status, code)
}

// connectionError returns the error for a request without response. It omits
// the request's address, which may be signed.
func connectionError(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return away("the request was broken off")
	case errors.Is(err, context.DeadlineExceeded):
		return away("it did not answer in time")
	}
	return away("%w", err)
}
