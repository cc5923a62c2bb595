package blob_test

import (
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"cpar/internal/testing/buckettest"
)

func makeContainer(t *testing.T, p buckettest.Endpoint) {
	t.Helper()
	_, endpoint, _ := strings.Cut(p.Address, "endpoint=")
	key, err := container.NewSharedKeyCredential(p.Credential("AZURE_STORAGE_ACCOUNT"), p.Credential("AZURE_STORAGE_KEY"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.NewClientWithSharedKeyCredential(endpoint+"/photos", key, nil)
	if err == nil {
		_, err = c.Create(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}
