package apisim_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
)

func TestInMemory(t *testing.T) {
	for _, o := range []apisim.Options{{InMemory: true}, {InMemory: true, TLS: true}, {InMemory: true, TLS: true, HTTP1: true}} {
		t.Run(fmt.Sprintf("TLS=%t,HTTP1=%t", o.TLS, o.HTTP1), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := apisim.Start(o)
				if err != nil {
					t.Fatal(err)
				}
				lifeOfAPod(t, kubernetes.NewForConfigOrDie(s.Config()))
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The clock of a bubble stands still while anybody waits for the network.
func TestInMemoryTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apisim.Start(apisim.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		began := time.Now()
		timeout := int64(3600)
		w, err := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &timeout})
		if err != nil {
			t.Fatal(err)
		}
		for range w.ResultChan() {
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("a watch of an hour took %v", took)
		}
	})
}

func TestInMemoryIsRefusedAfterClose(t *testing.T) {
	s := start(t, apisim.Options{InMemory: true})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Config().Dial(t.Context(), "tcp", "anything"); err == nil {
		t.Error("a closed server was reached")
	}
}

func TestInMemoryCloseSendsWhatWasWritten(t *testing.T) {
	s := start(t, apisim.Options{InMemory: true, Front: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "some of")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
	}})
	client, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); string(got) != "some of" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestHTTP1Only(t *testing.T) {
	for _, only := range []bool{false, true} {
		s := start(t, apisim.Options{TLS: true, HTTP1: only})
		client, err := rest.HTTPClientFor(s.Config())
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Get(s.URL() + configMaps)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.ProtoMajor == 1 != only {
			t.Errorf("with HTTP1 %t the server speaks %s", only, response.Proto)
		}
		client.CloseIdleConnections()
	}
}
