package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// Query says what is listed and watched.
type Query struct {
	Resource schema.GroupVersionResource
	// Namespace restricts the query to one namespace. "" means all of them, and is
	// required for cluster-scoped resources.
	Namespace     string
	LabelSelector string
	FieldSelector string
	// Tweak, if not nil, is called last to change the options of each request:
	// selectors, versions, limits.
	Tweak func(*metav1.ListOptions)
	// MetadataOnly asks the server to send only the objects' metadata.
	MetadataOnly bool
	// Protobuf offers protobuf to the server. A server that does not support it for the
	// resource answers in JSON.
	Protobuf bool
	// Compression of lists. Default: CompressFar.
	Compression Compression
	// Limits on what the server may send.
	Limits wire.Limits
}

// String names the query, for messages.
func (q Query) String() string {
	var b strings.Builder
	b.WriteString(q.Resource.Resource)
	if q.Resource.Group != "" {
		b.WriteString("." + q.Resource.Group)
	}
	if q.Namespace != "" {
		b.WriteString(" in namespace " + q.Namespace)
	}
	if q.LabelSelector != "" {
		b.WriteString(" with labels " + q.LabelSelector)
	}
	if q.FieldSelector != "" {
		b.WriteString(" with fields " + q.FieldSelector)
	}
	return b.String()
}

// source asks an API server over client-go's REST client.
type source struct {
	Query
	client rest.Interface
	// unselective: the server does not select by name.
	unselective atomic.Bool
}

// NewSource returns a source of bytes.
func NewSource(client rest.Interface, q Query) engine.Source {
	return &source{Query: q, client: client}
}

// request returns a GET of the collection, as a list of a kind, or only of objects with
// a given name or key.
func (s *source) request(kind string, o metav1.ListOptions, only ...string) *rest.Request {
	path, namespace := []string{"/apis", s.Resource.Group, s.Resource.Version}, s.Namespace
	if s.Resource.Group == "" {
		path = []string{"/api", s.Resource.Version}
	}
	watch := o.Watch
	o.LabelSelector, o.FieldSelector = s.LabelSelector, s.FieldSelector
	if s.Tweak != nil {
		s.Tweak(&o)
	}
	o.Watch = watch
	for _, key := range only {
		name := key
		if ns, rest, ok := strings.Cut(key, "/"); ok {
			namespace, name = ns, rest
		}
		o.FieldSelector = strings.TrimPrefix(o.FieldSelector+",metadata.name="+name, ",")
		o.Limit = 0
	}
	// The reflector retries, and shows that in the status.
	r := s.client.Get().AbsPath(path...).NamespaceIfScoped(namespace, namespace != "").
		Resource(s.Resource.Resource).SetHeader("Accept", s.accept(kind, s.MetadataOnly)).MaxRetries(0).
		SpecificallyVersionedParams(&o, metav1.ParameterCodec, metav1.Unversioned)
	if o.TimeoutSeconds != nil && !watch {
		r.Timeout(time.Duration(*o.TimeoutSeconds) * time.Second)
	}
	return r
}

// accept lists the acceptable encodings, best first. Kind is what the server is asked
// to convert objects to if only metadata is needed.
func (s *source) accept(kind string, metadata bool) string {
	types := []string{"application/json"}
	if s.Protobuf {
		types = []string{"application/vnd.kubernetes.protobuf", "application/json"}
	}
	if metadata {
		for i := range types {
			types[i] += ";as=" + kind + ";g=meta.k8s.io;v=v1"
		}
		// A server that cannot reduce objects to metadata sends them whole.
		types = append(types, "application/json")
	}
	return strings.Join(types, ",")
}

// List starts a LIST request.
func (s *source) List(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	if o.Probe && o.ResourceVersion != "" && o.Object == "" {
		return s.probe(ctx, o)
	}
	l := &listStream{source: s, ctx: ctx, options: o}
	if err := l.open(""); err != nil {
		return nil, err
	}
	return l, nil
}

// nobody is a name that no object has: a list of it has only a version.
const nobody = "kinform-asks-for-the-version"

// probe asks the server's cache for its version. Caches answer lists that have a
// version and no limit; with a limit, the storage is read. To keep the response small,
// the list selects a single name. A server that cannot select by name, as some
// aggregated servers, is asked for one object from its storage.
func (s *source) probe(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	if !s.unselective.Load() {
		l := &listStream{source: s, ctx: ctx, options: o}
		err := l.open("")
		if err == nil {
			if _, err = l.Next(); err == io.EOF {
				return l, nil
			}
			l.Close()
		}
		if err != nil && !cannotSelect(err) {
			return nil, err
		}
		s.unselective.Store(true)
	}
	o.ResourceVersion = ""
	return s.List(ctx, o)
}

// cannotSelect reports whether a server may have refused a list because of its
// selector. Servers differ in the status that they use for that.
func cannotSelect(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// listStream reads a list, page after page if there are pages.
type listStream struct {
	source   *source
	ctx      context.Context
	options  engine.ListOptions
	body     io.ReadCloser
	reader   *wire.ListReader
	received int64 // by the pages before the present one
}

func (l *listStream) open(next string) error {
	o := metav1.ListOptions{Limit: l.options.Limit, Continue: next}
	if next == "" {
		o.ResourceVersion = l.options.ResourceVersion
		if o.ResourceVersion != "" && o.ResourceVersion != "0" {
			o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
	}
	var only []string
	switch {
	case l.options.Object != "":
		only = []string{l.options.Object}
	case l.options.Probe && l.options.ResourceVersion != "":
		only = []string{nobody}
	}
	const kind = "PartialObjectMetadataList"
	r := l.source.request(kind, o, only...)
	if l.options.Metadata {
		r.SetHeader("Accept", l.source.accept(kind, true))
	}
	if l.options.Probe {
		// This stands in for part of the watch, which is not rate limited either: after
		// a restart of the server all watches of a client wait for their probes.
		r.Throttle(nil)
	}
	ctx, encoding := l.ctx, "identity" // or net/http would ask for gzip
	plan := l.source.Compression.plan(l.source.client, r.URL())
	if plan.compressed {
		encoding = "gzip"
	}
	if plan.alone && !l.options.Probe {
		ctx = long(ctx)
	}
	body, err := r.SetHeader("Accept-Encoding", encoding).Stream(ctx)
	if err == nil {
		body, err = gunzip(pulse{body, l.options.Alive})
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", l.source, err)
	}
	l.body, l.reader = body, wire.NewListReader(body, l.source.Limits)
	return nil
}

// pulse is a body that calls a function whenever data has arrived.
type pulse struct {
	io.ReadCloser
	alive func()
}

func (p pulse) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 && p.alive != nil {
		p.alive()
	}
	return n, err
}

func (l *listStream) Next() (engine.Item, error) {
	for {
		raw, err := l.reader.Next()
		if err == nil {
			return engine.Item{Format: l.reader.Format(), Bytes: raw}, nil
		}
		if err != io.EOF {
			return engine.Item{}, fmt.Errorf("list %s: %w", l.source, err)
		}
		next := l.reader.Meta().Continue
		if next == "" || l.options.Probe {
			return engine.Item{}, io.EOF
		}
		l.received += l.reader.Offset()
		l.body.Close()
		if err := l.open(next); err != nil {
			return engine.Item{}, err
		}
	}
}

func (l *listStream) Meta() wire.ListMeta { return l.reader.Meta() }
func (l *listStream) Received() int64     { return l.received + l.reader.Offset() }
func (l *listStream) Close() error        { return l.body.Close() }

// Watch starts a WATCH request.
func (s *source) Watch(ctx context.Context, o engine.WatchOptions) (engine.WatchStream, error) {
	mo := metav1.ListOptions{Watch: true, AllowWatchBookmarks: true, ResourceVersion: o.ResourceVersion}
	if seconds := int64(o.Timeout.Seconds()); seconds > 0 {
		mo.TimeoutSeconds = &seconds
	}
	if o.InitialEvents {
		yes := true
		mo.SendInitialEvents, mo.ResourceVersionMatch = &yes, metav1.ResourceVersionMatchNotOlderThan
	}
	// The client's rate limit is for requests that cost the server; client-go's own
	// watches do not wait for it either.
	body, err := s.request("PartialObjectMetadata", mo).Throttle(nil).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", s, err)
	}
	return &watchStream{source: s, ctx: ctx, body: body, reader: wire.NewWatchReader(body, s.Limits)}, nil
}

type watchStream struct {
	source *source
	ctx    context.Context
	body   io.ReadCloser
	reader *wire.WatchReader
}

func (w *watchStream) Next() (engine.Event, error) {
	ev, err := w.reader.Next()
	switch {
	case err == io.EOF, w.ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		// The client's own limit for requests (rest.Config.Timeout) ends watches, too.
		return engine.Event{}, io.EOF
	case err == nil && ev.Type == wire.Error:
		err = statusError(ev)
		fallthrough
	case err != nil:
		return engine.Event{}, fmt.Errorf("watch %s: %w", w.source, err)
	}
	return engine.Event{
		Type:       ev.Type,
		Item:       engine.Item{Format: ev.Format, Bytes: ev.Object},
		InitialEnd: ev.Type == wire.Bookmark && bytes.Contains(ev.Object, []byte(metav1.InitialEventsAnnotationKey)),
	}, nil
}

func (w *watchStream) Buffered() bool { return w.reader.Buffered() }
func (w *watchStream) Close() error   { return w.body.Close() }

// statusError returns the error for the status in an ERROR event.
func statusError(ev wire.Event) error {
	var status metav1.Status
	var err error
	if ev.Format == wire.Protobuf {
		err = status.Unmarshal(ev.Object)
	} else {
		err = json.Unmarshal(ev.Object, &status)
	}
	if err != nil {
		return &wire.EventError{Err: fmt.Errorf("an error event that cannot be read: %w", err)}
	}
	return &apierrors.StatusError{ErrStatus: status}
}
