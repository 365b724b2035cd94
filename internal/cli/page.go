package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kinform/kinform/debug"
)

// page is the page of package debug, served.
type page struct {
	*debug.Handler
	server *http.Server
	url    string
	ended  chan error
}

// openPage serves a page with the targets at an address, which may leave the port to
// the system.
func openPage(address, title, token string, targets []*target) (*page, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &problem{what: "cannot serve the page at " + address, why: innermost(err), cause: err,
			do: "choose another address"}
	}
	p := &page{Handler: debug.New(debug.Options{Title: title, Token: token}), url: "http://" + listener.Addr().String() + "/", ended: make(chan error, 1)}
	for _, t := range targets {
		if err := p.Add(t.title(), t.inf); err != nil {
			_ = listener.Close()
			return nil, &problem{what: "cannot show " + t.title(), why: innermost(err), cause: err}
		}
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	go func() { p.ended <- p.server.Serve(listener) }()
	return p, nil
}

// close ends the page, its streams included.
func (p *page) close() {
	p.Handler.Close()
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if p.server.Shutdown(soon) != nil {
		_ = p.server.Close()
	}
	<-p.ended
}

// checkPageAddress finds out whether a page may be served at an address: whoever reaches
// it sees every object, so beyond this machine a token is needed.
func checkPageAddress(cmd *cobra.Command, flag, address string, token bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return badUsage(cmd, fmt.Sprintf("%s %q is no address, such as 127.0.0.1:8080", flag, address))
	}
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && addr.IsLoopback() || token {
		return nil
	}
	do := "kinform serve has one"
	if cmd.Flag("token-file") != nil {
		do = "give --token-file"
	}
	return badUsage(cmd, fmt.Sprintf("%s %s can be reached from elsewhere, where the page wants a token: %s", flag, address, do))
}

// shortestToken is how many characters nobody guesses.
const shortestToken = 16

// readToken reads the token of a file.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", &problem{what: "cannot read the token", why: err.Error(), cause: err}
	}
	token := strings.TrimSpace(string(raw))
	if len(token) < shortestToken {
		return "", &problem{what: fmt.Sprintf("the token in %s has %d characters", path, len(token)), why: fmt.Sprintf("%d are the least that nobody guesses", shortestToken),
			do: "make one: head -c 24 /dev/urandom | base64 > " + path}
	}
	return token, nil
}
