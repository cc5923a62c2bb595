package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo/metadata"
)

// tokenHeader carries the token. A page of another origin may set it only with
// CORS permission, which this server never grants.
const tokenHeader = "X-Cpar-Token"

func newToken() string { return randomName("", 32) }

// randomName returns a name of random bytes after a prefix.
func randomName(prefix string, bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

// policy permits only resources from this server and images made by the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"Cache-Control":                "no-store",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

// guard refuses requests by these headers:
//
//	Host            a foreign name that resolves to this machine (DNS rebinding)
//	Sec-Fetch-Site  pages of other origins and their embedded resources
//	Origin          the same, for browsers that do not send Sec-Fetch-Site
//	X-Cpar-Token    other programs and users of this machine, below /api/
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		api := strings.HasPrefix(r.URL.Path, "/api/")
		switch {
		case r.Host != s.host:
			refuse(w, http.StatusMisdirectedRequest, "this server has another name")
		case !fromHere(r):
			refuse(w, http.StatusForbidden, "this server does not serve other pages")
		case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+s.host:
			refuse(w, http.StatusForbidden, "this server does not serve other pages")
		case api && subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.token)) != 1:
			refuse(w, http.StatusUnauthorized, "open the address that cpar ui has printed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// fromHere reports whether the browser declares that a request comes from the page.
// Other sites may open the page in a tab, but without the token it stays empty.
func fromHere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return true
	}
	return r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func refuse(w http.ResponseWriter, status int, why string) {
	writeJSON(w, status, problem{Error: why})
}

// inside refuses a photo if a link leads its file, a raw file of the same
// photo, or a sidecar out of the opened folders.
func (w *LibraryBackend) inside(path string) error {
	for _, shot := range w.shots(path) {
		for _, file := range append([]string{shot.Path}, shot.Also...) {
			for _, name := range append([]string{file}, metadata.Sidecars(file)...) {
				if err := w.leadsInside(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *LibraryBackend) leadsInside(name string) error {
	real, err := resolved(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking at a photo: %w: %w", cpar.ErrInput, err)
	}
	for _, folder := range w.o.Folders {
		root, err := resolved(folder)
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(below) {
			return nil
		}
	}
	return hint.Add(fmt.Errorf("looking at a photo: %w: %s is a link to a place outside the folders", cpar.ErrInput, sanitize.Text(filepath.Base(name))),
		"name the folder that it leads to, too, or remove the link")
}

func resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
