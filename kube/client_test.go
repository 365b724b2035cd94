package kube

import (
	"context"
	"errors"
	"net"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
)

// A credential plugin keeps track of connections with a dialer of its own. It stays
// in use, and clients of one plugin go on to share their connections.
func TestPluginsKeepTheirDialer(t *testing.T) {
	cfg := &rest.Config{Host: "https://127.0.0.1:1", ExecProvider: &api.ExecConfig{
		Command: "plugin", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode,
	}}
	tc, err := cfg.TransportConfig()
	if err != nil {
		t.Fatal(err)
	}
	if tc.DialHolder == nil {
		t.Fatal("the plugin has no dialer")
	}
	one := patientDialOf(tc.DialHolder, false)
	if tc, err = cfg.TransportConfig(); err != nil {
		t.Fatal(err)
	}
	if one == patientDial || one != patientDialOf(tc.DialHolder, false) {
		t.Error("clients of one plugin have different dialers, or the one of clients without a plugin")
	}

	refused := errors.New("refused")
	d := &transport.DialHolder{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
	for _, own := range []bool{false, true} {
		if _, err := patientDialOf(d, own).Dial(t.Context(), "tcp", "127.0.0.1:1"); err != refused {
			t.Errorf("own %t: %v", own, err)
		}
	}
}
