package cache

import (
	"context"
	"errors"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	clientgo "k8s.io/client-go/tools/cache"
)

// DefaultWatchErrorHandler logs the end of a watch at a level that fits its cause.
func DefaultWatchErrorHandler(ctx context.Context, r *clientgo.Reflector, err error) {
	log := klog.FromContext(ctx).WithValues("reflector", r.Name(), "type", r.TypeDescription(), "err", err)
	switch {
	case isExpired(err):
		log.V(4).Info("Watch closed")
	case errors.Is(err, io.EOF): // as it should
	case errors.Is(err, io.ErrUnexpectedEOF):
		log.V(1).Info("Watch closed with unexpected EOF")
	default:
		utilruntime.HandleErrorWithContext(ctx, err, "Failed to watch", "reflector", r.Name(), "type", r.TypeDescription())
	}
}

// reflectorShell is what error handlers are given, whose type is client-go's: a
// reflector of client-go's that reflects nothing, and has the name, the type and the
// version of one that does.
type reflectorShell struct {
	name, typeDescription string

	mu        sync.Mutex
	reflector *clientgo.Reflector
	version   string
}

func newReflectorShell(name, typeDescription string) *reflectorShell {
	return &reflectorShell{name: name, typeDescription: typeDescription}
}

// showing brings the shell up to date.
func (s *reflectorShell) showing(r *StoreReflector) *clientgo.Reflector {
	shell := s.at(r.LastSyncResourceVersion())
	shell.WatchListPageSize = r.WatchListPageSize
	shell.ShouldResync = r.ShouldResync
	shell.MaxInternalErrorRetryDuration = r.MaxInternalErrorRetryDuration
	return shell
}

// at gives the shell a version, in the one way that client-go has for that: it lists
// nothing at that version.
func (s *reflectorShell) at(version string) *clientgo.Reflector {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reflector == nil {
		s.reflector = clientgo.NewReflectorWithOptions(emptySource{s}, nil, &clientgo.FakeCustomStore{},
			clientgo.ReflectorOptions{Name: s.name, TypeDescription: s.typeDescription})
	}
	if s.version != version {
		s.version = version
		quiet := klog.NewContext(context.Background(), klog.Logger{})
		_ = s.reflector.ListAndWatchWithContext(quiet) // ends with errEmptySource
	}
	return s.reflector
}

// emptySource lists nothing at the shell's version, and watches nothing.
type emptySource struct{ shell *reflectorShell }

var errEmptySource = errors.New("this reflector reflects nothing")

func (e emptySource) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: e.shell.version}}, nil
}

func (emptySource) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errEmptySource }

// IsWatchListSemanticsUnSupported makes client-go list.
func (emptySource) IsWatchListSemanticsUnSupported() bool { return true }
