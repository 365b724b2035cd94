package workloads

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"

	"github.com/kinform/kinform/apisim"
)

// load writes to the server, from one goroutine.
type load struct {
	server  *apisim.Server
	chance  *rand.Rand
	bytes   *rand.ChaCha8
	encoder runtime.Encoder
}

func newLoad(s *apisim.Server) *load {
	seed := [32]byte{1}
	return &load{
		server:  s,
		chance:  rand.New(rand.NewPCG(1, 2)),
		bytes:   rand.NewChaCha8(seed),
		encoder: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
	}
}

// history is how many events the server keeps of a resource whose objects have
// the given size: at most about 64 MB of them.
func history(objectSize int) int { return min(10_000, max(64*mB/objectSize, 100)) }

// object is what all objects of the workloads are.
type object interface {
	runtime.Object
	metav1.Object
}

// create makes objects. They get a uid of their own.
func (l *load) create(all ...object) error {
	return l.server.Load(func(yield func(runtime.Object) bool) {
		for _, o := range all {
			if !yield(o) {
				return
			}
		}
	})
}

// update replaces an object.
func (l *load) update(r schema.GroupVersionResource, o object) error {
	return l.put(r, o, "")
}

// updateStatus replaces the status of an object.
func (l *load) updateStatus(r schema.GroupVersionResource, o object) error {
	return l.put(r, o, "/status")
}

func (l *load) put(r schema.GroupVersionResource, o object, sub string) error {
	body, contentType, err := l.encode(r, o)
	if err != nil {
		return err
	}
	before := l.server.ResourceVersion()
	if err := l.request(http.MethodPut, path(r, o)+sub, contentType, body); err != nil {
		return err
	}
	after := l.server.ResourceVersion()
	if after == before {
		return fmt.Errorf("the update of %s/%s changed nothing", o.GetNamespace(), o.GetName())
	}
	if o.GetResourceVersion() != "" {
		o.SetResourceVersion(strconv.FormatUint(after, 10))
	}
	return nil
}

// remove deletes an object, with what a kubelet says if it is a pod: that it has
// ended.
func (l *load) remove(r schema.GroupVersionResource, o object) error {
	return l.request(http.MethodDelete, path(r, o)+"?gracePeriodSeconds=0", "", nil)
}

// mark asks for the end of a pod, which its kubelet has not stopped yet.
func (l *load) mark(o object) error {
	return l.request(http.MethodDelete, path(pods, o)+"?gracePeriodSeconds=30", "", nil)
}

func path(r schema.GroupVersionResource, o metav1.Object) string {
	return fmt.Sprintf("%s/namespaces/%s/%s/%s", root(r), o.GetNamespace(), r.Resource, o.GetName())
}

func root(r schema.GroupVersionResource) string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

func (l *load) encode(r schema.GroupVersionResource, o object) ([]byte, string, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		body, err := u.MarshalJSON()
		return body, runtime.ContentTypeJSON, err
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return nil, "", err
	}
	o.GetObjectKind().SetGroupVersionKind(r.GroupVersion().WithKind(kinds[0].Kind))
	var b bytes.Buffer
	err = l.encoder.Encode(o, &b)
	return b.Bytes(), runtime.ContentTypeProtobuf, err
}

// request asks the server without a connection: what the load costs should not
// be most of what the machine does.
func (l *load) request(verb, path, contentType string, body []byte) error {
	req, err := http.NewRequestWithContext(context.Background(), verb, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.RequestURI = path
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Accept", contentType)
	}
	w := answer{header: http.Header{}}
	l.server.ServeHTTP(&w, req)
	if w.code >= 300 {
		return fmt.Errorf("%s %s: %d: %s", verb, path, w.code, w.start)
	}
	return nil
}

// answer keeps the beginning of an answer.
type answer struct {
	header http.Header
	code   int
	start  []byte
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) WriteHeader(code int) {
	a.code = code
}
func (a *answer) Write(b []byte) (int, error) {
	if room := 500 - len(a.start); room > 0 {
		a.start = append(a.start, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// filled returns n new random bytes.
func (l *load) filled(n int) []byte {
	b := make([]byte, n)
	_, _ = l.bytes.Read(b) // it has no end
	return b
}

// Content says which objects there are in which versions.
type Content struct {
	Objects int
	Digest  uint64
}

// Add adds an object. The order does not matter.
func (c *Content) Add(resource, namespace, name, version string) {
	h := fnv.New64a()
	fmt.Fprint(h, resource, "/", namespace, "/", name, "@", version)
	c.Objects++
	c.Digest += h.Sum64()
}

// content is what the server has of some resources, and how many bytes it sends
// for a list of it.
func content(ctx context.Context, s *apisim.Server, resources []schema.GroupVersionResource) (c Content, size int64, err error) {
	client, err := metadata.NewForConfig(s.Config())
	if err != nil {
		return c, 0, err
	}
	for _, r := range resources {
		list, err := client.Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			return c, 0, err
		}
		for _, o := range list.Items {
			c.Add(r.Resource, o.Namespace, o.Name, o.ResourceVersion)
		}
		n, err := listSize(ctx, s, r)
		if err != nil {
			return c, 0, err
		}
		size += n
	}
	return c, size, nil
}

// listSize is the size of a list in the encoding in which the subjects read it.
func listSize(ctx context.Context, s *apisim.Server, r schema.GroupVersionResource) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+root(r)+"/"+r.Resource, nil)
	if err != nil {
		return 0, err
	}
	if r != databases {
		req.Header.Set("Accept", runtime.ContentTypeProtobuf)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("list %s: %s", r.Resource, res.Status)
	}
	return io.Copy(io.Discard, res.Body)
}

// take collects a sequence of objects.
func take[T object](seq iter.Seq[T]) []T { return slices.Collect(seq) }

// asObjects is for the arguments of create.
func asObjects[T object](all []T) []object {
	out := make([]object, len(all))
	for i, o := range all {
		out[i] = o
	}
	return out
}
