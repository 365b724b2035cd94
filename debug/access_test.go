package debug_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/debug"
)

// ask sends a request to a page, as a server would that got it from somewhere.
func ask(page http.Handler, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
	if change != nil {
		change(r)
	}
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, r)
	return answer
}

// TestLoopback: without a token, the page is for its own machine, and for no web page
// that a browser on it shows.
func TestLoopback(t *testing.T) {
	page := debug.New(debug.Options{})
	defer page.Close()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	tests := []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"from here", nil, 200},
		{"IPv6", func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:4711", "[::1]:8080" }, 200},
		{"IPv4 in IPv6", func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:4711" }, 200},
		{"by number", func(r *http.Request) { r.Host = "127.0.0.1" }, 200},
		{"in capitals", func(r *http.Request) { r.Host = "LOCALHOST.:80" }, 200},
		{"from elsewhere", func(r *http.Request) { r.RemoteAddr = "10.0.0.7:4711" }, 403},
		{"from nowhere", func(r *http.Request) { r.RemoteAddr = "" }, 403},
		{"from a name", func(r *http.Request) { r.RemoteAddr = "localhost:80" }, 403},
		{"another name for this machine", func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"a name that only begins so", func(r *http.Request) { r.Host = "localhost.evil.example:8080" }, 403},
		{"a number in a name", func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, 403},
		{"no name", func(r *http.Request) { r.Host = "" }, 403},
		{"by a proxy", header("X-Forwarded-For", "10.0.0.7"), 403},
		{"by another proxy", header("Forwarded", "for=10.0.0.7"), 403},
		{"by one that says little", header("Via", "1.1 proxy"), 403},
		{"by one that says nothing", header("X-Forwarded-For", ""), 403},
		{"by a sidecar", header("X-Envoy-Attempt-Count", "1"), 403},
		{"of another site", header("Origin", "https://evil.example"), 403},
		{"of no site", header("Origin", "null"), 403},
		{"of the site itself", header("Origin", "http://localhost:8080"), 200},
		{"of another port", header("Origin", "http://localhost:9999"), 403},
		{"an image of another site", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "no-cors")
		}, 403},
		{"a link on another site", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "document")
		}, 200},
		{"POST", func(r *http.Request) { r.Method = http.MethodPost }, 405},
		{"OPTIONS", func(r *http.Request) { r.Method = http.MethodOptions }, 405},
		{"HEAD", func(r *http.Request) { r.Method = http.MethodHead }, 200},
	}
	for _, tt := range tests {
		for _, path := range []string{"/", "/overview.json", "/style.css"} {
			if answer := ask(page, path, tt.change); answer.Code != tt.want {
				t.Errorf("%s, %s: %d, want %d: %s", tt.name, path, answer.Code, tt.want, answer.Body)
			}
		}
	}
}

// TestToken: with one, everybody needs it, and from then on a cookie.
func TestToken(t *testing.T) {
	const token = "a-long-and-random-token"
	page := debug.New(debug.Options{Token: token})
	defer page.Close()
	bearer := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", text) }
	}
	far := func(r *http.Request) { r.RemoteAddr, r.Host = "203.0.113.9:4711", "page.example" }
	name := ask(page, "/?token="+token, nil).Result().Cookies()[0].Name
	for _, path := range []string{"/", "/overview.json", "/informer?i=x", "/live", "/object.yaml?i=a&key=b", "/page.js", "/nothing"} {
		for name, change := range map[string]func(*http.Request){
			"none": nil, "from afar": far, "wrong": bearer("Bearer wrong"), "empty": bearer("Bearer "), "basic": bearer("Basic " + token),
			"longer": bearer("Bearer " + token + "x"), "shorter": bearer("Bearer " + token[:5]),
			"the token as a cookie": func(r *http.Request) { r.AddCookie(&http.Cookie{Name: name, Value: token}) },
		} {
			answer := ask(page, path, change)
			if answer.Code != http.StatusUnauthorized || answer.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s, %s: %d, want 401", path, name, answer.Code)
			}
			if strings.Contains(answer.Body.String(), token) {
				t.Errorf("%s, %s: the answer has the token", path, name)
			}
		}
	}
	if answer := ask(page, "/overview.json", bearer("Bearer "+token)); answer.Code != http.StatusOK {
		t.Errorf("with the token: %d, want 200", answer.Code)
	}
	if answer := ask(page, "/?token=wrong", nil); answer.Code != http.StatusUnauthorized || len(answer.Result().Cookies()) > 0 {
		t.Errorf("with a wrong token in the address: %d, %v", answer.Code, answer.Result().Cookies())
	}
	answer := ask(page, "/informer?i=pods&token="+token, far)
	cookies := answer.Result().Cookies()
	if answer.Code != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("with the token in the address: %d, %d cookies", answer.Code, len(cookies))
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, token) {
		t.Errorf("the cookie is %v", c)
	}
	if text := answer.Body.String(); !strings.Contains(text, `url=./informer?i=pods"`) || strings.Contains(text, token) {
		t.Errorf("it leads to\n%s", text)
	}
	if answer := ask(page, "/overview.json", func(r *http.Request) { far(r); r.AddCookie(c) }); answer.Code != http.StatusOK {
		t.Errorf("with the cookie: %d, want 200", answer.Code)
	}
	other := debug.New(debug.Options{Token: "another-token"})
	for _, cookie := range []*http.Cookie{c, {Name: ask(other, "/?token=another-token", nil).Result().Cookies()[0].Name, Value: c.Value}} {
		if answer := ask(other, "/", func(r *http.Request) { r.AddCookie(cookie) }); answer.Code != http.StatusUnauthorized {
			t.Errorf("with the cookie of another token, called %s: %d, want 401", cookie.Name, answer.Code)
		}
	}
}

// TestHeaders: a browser keeps nothing, runs nothing else, and shows it in no frame.
func TestHeaders(t *testing.T) {
	page := debug.New(debug.Options{})
	defer page.Close()
	for _, path := range []string{"/", "/nothing", "/style.css", "/overview.json"} {
		h := ask(page, path, nil).Header()
		policy := h.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	for _, view := range []string{"/"} {
		text := ask(page, view, nil).Body.String()
		for _, bad := range []string{"<script>", " style=", " onclick", "http://", "https://", "//cdn"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", view, bad)
			}
		}
	}
}

// TestPathTricks: nothing is found but what there is.
func TestPathTricks(t *testing.T) {
	page := debug.New(debug.Options{})
	defer page.Close()
	for _, path := range []string{
		"/page", "/page/style.css", "/../doc.go", "/..%2fdoc.go", "/%2e%2e/%2e%2e/etc/passwd", "/style.css/", "//style.css", "/./",
		"/style.css%00", "/STYLE.CSS", "/informer/pods", "/sheet.html", "/index.html", "/.git/config", "/overview.json/..", "/a/../style.css",
	} {
		if answer := ask(page, path, nil); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, answer.Code)
		}
	}
}

// TestMounted: it works under any path, with relative links.
func TestMounted(t *testing.T) {
	page := debug.New(debug.Options{})
	defer page.Close()
	for _, strip := range []string{"/debug/kinform", "/debug/kinform/"} {
		mux := http.NewServeMux()
		mux.Handle("/debug/kinform/", http.StripPrefix(strip, page))
		for path, want := range map[string]int{"/debug/kinform/": 200, "/debug/kinform/style.css": 200, "/debug/kinform/x": 404} {
			if answer := ask(mux, path, nil); answer.Code != want {
				t.Errorf("%s without %s: %d, want %d", path, strip, answer.Code, want)
			}
		}
	}
	bare := http.StripPrefix("/debug/kinform", page)
	if answer := ask(bare, "/debug/kinform?q=a", nil); answer.Header().Get("Location") != "./kinform/?q=a" {
		t.Errorf("without a slash: %d, %q", answer.Code, answer.Header().Get("Location"))
	}
	if answer := ask(http.StripPrefix("/javascript:alert(1)", page), "/javascript:alert(1)", nil); !strings.HasPrefix(answer.Header().Get("Location"), "./") {
		t.Errorf("it leads to %q", answer.Header().Get("Location"))
	}
}

// TestHugeQueries are refused, and so is what makes no sense.
func TestHugeQueries(t *testing.T) {
	b := newBench(t, debug.Options{})
	informer[*corev1.Pod](b, "pods", kinform.Options{})
	long := strings.Repeat("a", 600)
	for path, want := range map[string]int{
		"objects?i=pods&q=" + long:                            400,
		"objects?i=pods&l=" + long:                            400,
		"objects?i=pods&after=" + long:                        400,
		"objects?i=pods&x=" + long:                            400,
		"object?i=pods&key=" + long:                           400,
		"informer?i=pods&q=" + long:                           400,
		"live?i=pods&q=" + long:                               400,
		"live?i=pods&l=" + long:                               400,
		"?q=" + long:                                          400,
		"objects?i=pods&l=a%3D%3D%3Db":                        400,
		"live?i=pods&l=a%3D%3D%3Db":                           400,
		"objects?i=pods&q=" + strings.Repeat(long, 10):        414,
		"informer?i=" + strings.Repeat("x", 1<<16):            414,
		"objects?i=nothing":                                   404,
		"object?i=pods&key=default/none":                      404,
		"object?i=pods":                                       404,
		"index?i=pods&x=none":                                 404,
		"objects?i=pods&x=none&v=1":                           404,
		"live?i=nothing":                                      404,
		"objects.json?i=pods&l=" + strings.Repeat("a,", 200):  400,
		"objects?i=pods&q=%ff%fe&l=":                          200,
		"objects?i=pods&q=" + strings.Repeat("%F0%9F%98", 10): 200,
	} {
		if code, text := b.get(path); code != want {
			t.Errorf("%.60s: %d, want %d: %.200s", path, code, want, text)
		}
	}
}
