package blob

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Google's XML interface accepts S3 requests. It rejects its own header for
// conditional requests if a request also has x-amz headers. Requests are
// therefore signed with GOOG4-HMAC-SHA256, which differs from S3's method only
// in names.
const (
	googleEndpoint   = "https://storage.googleapis.com"
	ifGenerationZero = "X-Goog-If-Generation-Match" // with value 0, a put fails if the object exists
)

func openGoogle(p bucketConfig) (driver, error) {
	id, key := p.credential("GS_ACCESS_KEY_ID"), p.credential("GS_SECRET_ACCESS_KEY")
	if id == "" || key == "" {
		return nil, missingCredentials("GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY")
	}
	p.endpoint = cmp.Or(p.endpoint, googleEndpoint)
	p.region, p.pathStyle = "auto", true
	client := newS3(p, credentials.NewStaticCredentialsProvider(id, key, ""), googleSigner{})
	return &s3Driver{client, p.bucket, onlyGenerationZero}, nil
}

func onlyGenerationZero(_ *s3.PutObjectInput, o *s3.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Build.Add(middleware.BuildMiddlewareFunc("only if absent", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
			if r, ok := in.Request.(*smithyhttp.Request); ok {
				r.Header.Set(ifGenerationZero, "0")
			}
			return next.HandleBuild(ctx, in)
		}), middleware.After)
	})
}

// A googleSigner signs with a service account's HMAC key (Cloud Storage,
// "Signatures", V4 signing process, scope DATE/auto/storage/goog4_request).
type googleSigner struct{}

func (googleSigner) SignHTTP(_ context.Context, c aws.Credentials, r *http.Request, payloadHash, _, region string, at time.Time, _ ...func(*v4.SignerOptions)) error {
	for name := range r.Header {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "x-amz-") || strings.HasPrefix(lower, "amz-sdk-") {
			r.Header.Del(name)
		}
	}
	stamp := at.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Goog-Date", stamp)
	r.Header.Set("X-Goog-Content-Sha256", payloadHash)
	r.Header.Del("Authorization")

	// Accept-Encoding is not signed, because Google's front end rewrites it
	// before it checks the signature.
	signed := map[string]string{"host": r.URL.Host}
	for name, values := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-goog-") || lower == "content-type" || lower == "range" {
			signed[lower] = strings.TrimSpace(strings.Join(values, ","))
		}
	}
	names := slices.Sorted(maps.Keys(signed))
	var canonical bytes.Buffer
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"))
	for _, name := range names {
		fmt.Fprintf(&canonical, "%s:%s\n", name, signed[name])
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", strings.Join(names, ";"), payloadHash)

	scope := strings.Join([]string{stamp[:8], region, "storage", "goog4_request"}, "/")
	digest := sha256.Sum256(canonical.Bytes())
	toSign := strings.Join([]string{"GOOG4-HMAC-SHA256", stamp, scope, hex.EncodeToString(digest[:])}, "\n")
	key := []byte("GOOG4" + c.SecretAccessKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("GOOG4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		c.AccessKeyID, scope, strings.Join(names, ";"), hex.EncodeToString(mac(key, toSign))))
	return nil
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
