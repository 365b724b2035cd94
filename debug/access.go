package debug

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// longestURL is how long an address may be, in bytes.
const longestURL = 4096

// protect sets what a browser has to know: nothing is loaded from elsewhere, framed,
// kept, or guessed.
func protect(header http.Header) {
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// admit returns why a request may not look, or nil if it may. One that brings the token
// in its address is answered with a cookie; a page is then opened again without the
// token, so that it does not stay in the address bar.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) *refusal {
	if !sameSite(r) {
		return refuse(http.StatusForbidden, "Another site has asked for this in your browser.")
	}
	if h.options.Token == "" {
		return local(r)
	}
	query := r.URL.Query()
	if query.Has("token") {
		if !same(query.Get("token"), h.options.Token) {
			return refuse(http.StatusUnauthorized, "That is not the token.")
		}
		h.giveCookie(w, r)
		if !isPage[strings.TrimPrefix(r.URL.Path, "/")] {
			return nil
		}
		query.Del("token")
		return &refusal{code: http.StatusOK, text: "Welcome.", to: "./" + url.PathEscape(strings.TrimPrefix(r.URL.Path, "/")) + "?" + query.Encode()}
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && same(bearer, h.options.Token) {
		return nil
	}
	for _, c := range r.CookiesNamed(h.cookieName()) { // there may be one for each of several paths
		if same(c.Value, h.ticket()) {
			return nil
		}
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return refuse(http.StatusUnauthorized, "This page wants a token: open it once with ?token=… at the end of its address, or send it as a bearer token.")
}

// isPage has the views that people look at in a browser. What programs fetch is answered
// at once.
var isPage = map[string]bool{"": true, "informer": true, "objects": true, "index": true, "object": true}

// cookieName is another one for each token: browsers give a host's cookies to all of its
// ports, and the page behind another port would replace the cookie of this one. A few bytes
// of a hash tell pages apart.
func (h *Handler) cookieName() string {
	sum := sha256.Sum256([]byte("kinform debug cookie name\n" + h.options.Token))
	return "kinform-debug-" + hex.EncodeToString(sum[:4])
}

// giveCookie lets a browser that had the token come back. No path is named: it is that
// of the page, wherever that was mounted.
func (h *Handler) giveCookie(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: h.cookieName(), Value: h.ticket(), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
}

// ticket is what the cookie has: it proves that somebody had the token, and does not
// tell it.
func (h *Handler) ticket() string {
	sum := sha256.Sum256([]byte("kinform debug cookie\n" + h.options.Token))
	return hex.EncodeToString(sum[:])
}

// same compares in a time that tells nothing, the lengths included.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// local returns why a request is not one of this machine's own. The name in the address
// counts, too: a web page can give its own name the address 127.0.0.1, and would then be
// the same site to the browser. What a proxy passes on comes from somewhere else.
func local(r *http.Request) *refusal {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	switch {
	case err != nil || !remote.Addr().Unmap().IsLoopback():
		return refuse(http.StatusForbidden, "Without a token, this page is for its own machine only: set debug.Options.Token.")
	case !loopbackName(r.Host):
		return refuse(http.StatusForbidden, "Without a token, this page has to be opened as localhost or 127.0.0.1.")
	}
	for header := range r.Header {
		if byProxy(header) {
			return refuse(http.StatusForbidden, "Without a token, this page is not for requests that a proxy passes on: set debug.Options.Token.")
		}
	}
	return nil
}

// byProxy reports whether a header is one that proxies add. Those that add none cannot be
// told from programs on this machine.
func byProxy(header string) bool {
	switch header {
	case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip":
		return true
	}
	return strings.HasPrefix(header, "X-Forwarded-") || strings.HasPrefix(header, "X-Envoy-")
}

// loopbackName reports whether the host of a request names this machine, whatever the
// port.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// sameSite reports whether a request comes from the page itself, or from no page: a
// link or a typed address may lead here, but no other site may fetch something.
func sameSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// bare reports whether the address of a request, as the browser sees it, ends without a
// slash.
func bare(r *http.Request) bool {
	asked, err := url.ParseRequestURI(r.RequestURI)
	return err == nil && asked.Path != "" && !strings.HasSuffix(asked.Path, "/")
}

func lastPart(r *http.Request) string {
	asked, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	return url.PathEscape(path.Base(asked.Path))
}
