package blob

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	azureblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"cpar"
)

// An azureDriver uses Azure Blob Storage. It writes a block blob with a single
// request, so an object is either complete or absent.
type azureDriver struct{ container *container.Client }

func openAzure(p bucketConfig) (driver, error) {
	account, key, sas := p.credential("AZURE_STORAGE_ACCOUNT"), p.credential("AZURE_STORAGE_KEY"), p.credential("AZURE_STORAGE_SAS_TOKEN")
	if account == "" || key == "" && sas == "" {
		return nil, missingCredentials("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY (or AZURE_STORAGE_SAS_TOKEN)")
	}
	p.endpoint = cmp.Or(p.endpoint, "https://"+account+".blob.core.windows.net")
	o := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: p.client,
		Retry:     policy.RetryOptions{MaxRetries: -1}, // retry.go retries for all providers
		Telemetry: policy.TelemetryOptions{Disabled: true},
	}}
	address := p.endpoint + "/" + p.bucket
	var c *container.Client
	var err error
	if key != "" {
		var shared *container.SharedKeyCredential
		if shared, err = container.NewSharedKeyCredential(account, key); err == nil {
			c, err = container.NewClientWithSharedKeyCredential(address, shared, o)
		}
	} else {
		c, err = container.NewClientWithNoCredential(address+"?"+sas, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: object storage: the account or its key is malformed", cpar.ErrInput)
	}
	return &azureDriver{c}, nil
}

func (d *azureDriver) get(ctx context.Context, name string, from, to int64) (io.ReadCloser, int64, error) {
	out, err := d.container.NewBlobClient(name).DownloadStream(ctx, &azureblob.DownloadStreamOptions{
		Range: azureblob.HTTPRange{Offset: from, Count: max(to-from, 0)}, // the zero range is the whole object
	})
	if err != nil {
		return nil, 0, azureError(err)
	}
	size := value(out.ContentLength)
	if from > 0 || to > 0 {
		if size, err = sizeOfRange(value(out.ContentRange), from); err != nil {
			out.Body.Close()
			return nil, 0, err
		}
	}
	return out.Body, size, nil
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (d *azureDriver) put(ctx context.Context, name string, body io.ReadSeeker, _ int64, _ [sha256.Size]byte, ifAbsent bool) error {
	o := &blockblob.UploadOptions{HTTPHeaders: &azureblob.HTTPHeaders{BlobContentType: to.Ptr("application/octet-stream")}}
	if ifAbsent {
		o.AccessConditions = &azureblob.AccessConditions{ModifiedAccessConditions: &azureblob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
	}
	_, err := d.container.NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(body), o)
	return azureError(err)
}

func (d *azureDriver) list(ctx context.Context, prefix string, folders bool, token string) (page []Object, next string, err error) {
	marker := (*string)(nil)
	if token != "" {
		marker = &token
	}
	var items []*container.BlobItem
	if folders {
		out, err := d.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix, Marker: marker}).NextPage(ctx)
		if err != nil {
			return nil, "", azureError(err)
		}
		for _, f := range out.Segment.BlobPrefixes {
			page = append(page, Object{Name: value(f.Name)})
		}
		items, next = out.Segment.BlobItems, value(out.NextMarker)
	} else {
		out, err := d.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, Marker: marker}).NextPage(ctx)
		if err != nil {
			return nil, "", azureError(err)
		}
		items, next = out.Segment.BlobItems, value(out.NextMarker)
	}
	for _, item := range items {
		o := Object{Name: value(item.Name)}
		if p := item.Properties; p != nil {
			o.Bytes, o.Modified = value(p.ContentLength), value(p.LastModified)
		}
		page = append(page, o)
	}
	return page, next, nil
}

func (d *azureDriver) remove(ctx context.Context, name string) error {
	_, err := d.container.NewBlobClient(name).Delete(ctx, nil)
	return azureError(err)
}

func azureError(err error) error {
	if err == nil {
		return nil
	}
	if answer := (*azcore.ResponseError)(nil); errors.As(err, &answer) {
		return statusError(answer.StatusCode, answer.ErrorCode)
	}
	return connectionError(err)
}
