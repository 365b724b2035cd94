package apisim_test

import (
	"io"
	"iter"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// benchPods is how many pods the benchmarks list. Set APISIM_PODS for another
// number.
func benchPods(b *testing.B) int {
	n := 100_000
	if text := os.Getenv("APISIM_PODS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	return n
}

func podObjects(n int) iter.Seq[k8sruntime.Object] {
	return func(yield func(k8sruntime.Object) bool) {
		for pod := range objects.Pods(1, n) {
			if !yield(pod) {
				return
			}
		}
	}
}

// BenchmarkList reads the whole list of pods over HTTP and throws it away.
func BenchmarkList(b *testing.B) {
	n := benchPods(b)
	s := start(b, apisim.Options{})
	loading := time.Now()
	if err := s.Load(podObjects(n)); err != nil {
		b.Fatal(err)
	}
	b.Logf("loaded %d pods in %v; resident %d MiB", n, time.Since(loading).Round(time.Millisecond), resident())
	for _, c := range []struct{ name, accept, encoding string }{
		{"protobuf", "application/vnd.kubernetes.protobuf", "identity"},
		{"protobuf-gzip", "application/vnd.kubernetes.protobuf", "gzip"},
		{"metadata", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "identity"},
		{"json", "application/json", "identity"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				read := get(b, s.URL()+"/api/v1/pods?resourceVersion=0", c.accept, c.encoding)
				b.SetBytes(read)
			}
			b.ReportMetric(float64(resident()), "resident-MiB")
		})
	}
}

func BenchmarkInitialEvents(b *testing.B) {
	n := benchPods(b)
	s := start(b, apisim.Options{})
	if err := s.Load(podObjects(n)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		read := get(b, s.URL()+"/api/v1/pods?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			"application/vnd.kubernetes.protobuf", "identity")
		b.SetBytes(read)
	}
}

// get reads an answer and returns its size on the wire.
func get(b *testing.B, url, accept, encoding string) int64 {
	b.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", encoding)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.Status, err)
	}
	return n
}

// resident is the memory of this process in MiB, or 0 where /proc is not.
func resident() int64 {
	runtime.GC()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib >> 10
		}
	}
	return 0
}
