package warmstart

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/snapshot"
)

const childVariable = "KINFORM_WARMSTART_CHILD"

// childConfig is what a process needs to run an informer.
type childConfig struct {
	Host, Token   string
	CA, Cert, Key []byte
	NS, Dir       string
}

// Child runs an informer if the process was started for that, until it is killed. TestMain
// has to call it first.
func Child() {
	path := os.Getenv(childVariable)
	if path == "" {
		return
	}
	var c childConfig
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	cfg := &rest.Config{Host: c.Host, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA, CertData: c.Cert, KeyData: c.Key}}
	b := &bench{ns: c.NS, dir: c.Dir}
	inf, err := kinform.New[*corev1.ConfigMap](cfg, b.options())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	inf.Subscribe(func(context.Context, kinform.Event[*corev1.ConfigMap]) {
		fmt.Println(inf.Status().Sources[0].Snapshot.SetAside)
	}, kinform.SubscribeOptions{})
	_ = inf.Run(context.Background())
	os.Exit(1)
}

// killed kills a process that runs an informer 100 times while objects change. Each next
// one opens what the last one left, and in the end it is equal to the server.
func killed(t *testing.T, b *bench) {
	c := childConfig{Host: b.Config.Host, Token: b.Config.BearerToken, CA: b.Config.CAData, Cert: b.Config.CertData, Key: b.Config.KeyData, NS: b.ns, Dir: b.dir}
	for file, into := range map[string]*[]byte{b.Config.CAFile: &c.CA, b.Config.CertFile: &c.Cert, b.Config.KeyFile: &c.Key} {
		if file != "" {
			text, err := os.ReadFile(file)
			must(t, err)
			*into = text
		}
	}
	text, err := json.Marshal(c)
	must(t, err)
	path := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(path, text, 0o600))
	own, err := os.Executable()
	must(t, err)
	rng := rand.New(rand.NewPCG(5, 6))
	warm := 0
	for i := range 100 {
		cmd := exec.Command(own)
		cmd.Env = append(os.Environ(), childVariable+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines, n := bufio.NewScanner(out), rng.IntN(8)
		b.put(t, fmt.Sprint("m", rng.IntN(5)), fmt.Sprint("value ", i)) // so that there is one
		for n > 0 && lines.Scan() {
			switch said := lines.Text(); said {
			case "<nil>":
				warm++
			default:
				if !strings.Contains(said, snapshot.ErrNone.Error()) && !strings.Contains(said, "newest objects") {
					t.Fatalf("run %d: %s", i, said)
				}
			}
			value := fmt.Sprint("value ", i, " ", n)
			if rng.IntN(6) == 0 {
				value = ""
			}
			b.put(t, fmt.Sprint("m", rng.IntN(5)), value)
			b.put(t, "always", fmt.Sprint("value ", i, " ", n))
			n--
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	if warm < 100 {
		t.Errorf("only %d events were of a run that began with what was on disk", warm)
	}
	s := b.start(t, b.options())
	defer s.stop()
	s.synced(t)
	b.equal(t, s)
	if err := s.Status().Sources[0].Snapshot.SetAside; err != nil {
		t.Errorf("the last one was set aside: %v", err)
	}
}
