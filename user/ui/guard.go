package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
)

// tokenHeader carries the token. A page of another origin cannot set it without being asked
// for permission first, which is never given.
const tokenHeader = "X-Cpar-Token"

// newToken is 256 random bits, in letters that a fragment may hold.
func newToken() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// policy lets the page load from this server, show pictures that it has made itself, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers are sent with everything.
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

// guard refuses who must not be served:
//
//	Host            a name that somebody has pointed at this machine (DNS rebinding)
//	Sec-Fetch-Site  pages of other origins, and what they embed
//	Origin          the same, of browsers that do not send it
//	the token       other programs and other users of this machine; asked for below /api/
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

// fromHere reports whether a browser says that a request is the page's own. The page itself may
// be opened from anywhere in a tab of its own: without the token it is empty. Programs that are no
// browsers say nothing.
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
