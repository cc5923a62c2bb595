package blobs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

// A blob that the server itself reports as damaged is a failure of the server. The
// error lacks the hint for indexes.
func TestMarkedBlobIsFailureOfServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", cparhttp.TypeProblem)
		w.WriteHeader(http.StatusInternalServerError)
		json.NewEncoder(w).Encode(cparhttp.Problem{Status: http.StatusInternalServerError, Code: cparhttp.CodeCorrupt})
	}))
	defer s.Close()
	client, err := cparhttp.New(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Cloud{Client: client, Album: cpar.IndexID{1}}.Get(t.Context(), "p0123", 0, -1)
	if exitcode.Of(err) != exitcode.Cloud || hint.Of(err) != "" || !strings.Contains(err.Error(), "p0123") {
		t.Errorf("exit code %d, %v, hint %q", exitcode.Of(err), err, hint.Of(err))
	}
}
