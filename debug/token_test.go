package debug_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kinform/kinform/debug"
)

// TestTwoPagesOnOneHost: a browser has one jar for all ports of a host. Who has opened two
// pages sees both, and what else the jar has keeps nobody out.
func TestTwoPagesOnOneHost(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{}}
	defer browser.CloseIdleConnections()
	see := func(address string) int {
		t.Helper()
		answer, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	tokens := []string{"the-token-of-one", "the-token-of-another"}
	var addresses []string
	for _, token := range tokens {
		page := debug.New(debug.Options{Token: token})
		defer page.Close()
		server := httptest.NewServer(page)
		defer server.Close()
		addresses = append(addresses, server.URL)
		if code := see(server.URL + "/?token=" + token); code != http.StatusOK {
			t.Fatalf("with the token: %d", code)
		}
	}
	for _, address := range addresses {
		if code := see(address + "/overview.json"); code != http.StatusOK {
			t.Errorf("%s after both were opened: %d, want 200", address, code)
		}
	}
	request := httptest.NewRequest(http.MethodGet, addresses[0]+"/", nil)
	for _, c := range jar.Cookies(request.URL) {
		for _, token := range tokens {
			if strings.Contains(c.Name+c.Value, token) {
				t.Errorf("the cookie %s tells the token", c.Name)
			}
		}
	}
}

// TestWrongCookieBeside: a cookie of the same name that is wrong, as that of another path
// of the same host may be, keeps nobody out who has the right one too, or the token.
func TestWrongCookieBeside(t *testing.T) {
	const token = "a-long-and-random-token"
	page := debug.New(debug.Options{Token: token})
	defer page.Close()
	right := ask(page, "/?token="+token, nil).Result().Cookies()[0]
	wrong := &http.Cookie{Name: right.Name, Value: "wrong"}
	for name, change := range map[string]func(*http.Request){
		"the right one after it": func(r *http.Request) { r.AddCookie(right) },
		"a bearer token":         func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
		"the token in the address": func(r *http.Request) {
			r.URL.RawQuery = "token=" + token
		},
	} {
		answer := ask(page, "/overview.json", func(r *http.Request) { r.AddCookie(wrong); change(r) })
		if answer.Code != http.StatusOK {
			t.Errorf("a wrong cookie and %s: %d, want 200", name, answer.Code)
		}
	}
	if answer := ask(page, "/overview.json", func(r *http.Request) { r.AddCookie(wrong) }); answer.Code != http.StatusUnauthorized {
		t.Errorf("a wrong cookie alone: %d, want 401", answer.Code)
	}
}

// TestTokenOfPrograms: what a program asks for is answered at once if it brings the token,
// with what it asked for, and else refused, in JSON.
func TestTokenOfPrograms(t *testing.T) {
	const token = "a-long-and-random-token"
	b := newBench(t, debug.Options{Token: token})
	b.add("nodes", b.nodes())
	for _, view := range []string{
		"overview.json", "informer.json?i=nodes", "changes.json?i=nodes", "objects.json?i=nodes", "index.json?i=nodes&x=none",
		"object.json?i=nodes&key=none",
	} {
		and := "?"
		if strings.Contains(view, "?") {
			and = "&"
		}
		for _, with := range []string{"", and + "token=", and + "token=wrong", and + "token=wrong&token=" + token} {
			answer := ask(b.page, "/"+view+with, nil)
			var said struct{ Error string }
			if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil || said.Error == "" {
				t.Errorf("%s: %v, %s", view+with, err, answer.Body)
			}
			if kind := answer.Header().Get("Content-Type"); answer.Code != http.StatusUnauthorized || !strings.HasPrefix(kind, "application/json") {
				t.Errorf("%s: %d, %s, want 401 and JSON", view+with, answer.Code, kind)
			}
		}
		answer := ask(b.page, "/"+view+and+"token="+token, nil)
		var said map[string]any
		if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil {
			t.Errorf("%s with the token: %v: %s", view, err, answer.Body)
		}
		if (answer.Code == http.StatusOK) != (said["error"] == nil) {
			t.Errorf("%s with the token: %d with the error %v", view, answer.Code, said["error"])
		}
		if known := !strings.Contains(view, "none"); known != (answer.Code == http.StatusOK) {
			t.Errorf("%s with the token: %d: %s", view, answer.Code, answer.Body)
		}
	}
}
