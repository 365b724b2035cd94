package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// listing is what a list gave.
type listing struct {
	list     runtime.Object
	inPages  bool
	err      error
	panicked any
}

// fillFromList lists and replaces what the store has. It does not wait for a list
// that continues after ctx has ended.
func (r *StoreReflector) fillFromList(ctx context.Context) error {
	version := r.listVersion()
	pageSize := r.pageSize(version)
	listed := make(chan listing, 1)
	go func() { listed <- r.list(ctx, version, pageSize) }()
	var got listing
	select {
	case <-ctx.Done():
		return nil
	case got = <-listed:
	}
	if got.panicked != nil {
		panic(got.panicked)
	}
	if got.err != nil {
		return fmt.Errorf("failed to list %v: %w", r.typeDescription, got.err)
	}
	// A server that answers in pages although any version would do has no cache
	// for this resource, so there is none to spare later either.
	if version == "0" && got.inPages {
		r.inPages = true
	}
	r.setUnavailable(false)
	return r.replace(got.list)
}

// defaultPageSize is what lists are cut into where pages do no harm.
const defaultPageSize = 500

// pageSize is 0, for no pages, where a server could answer from its cache, which
// it does only when no page is asked for. At version 0 it does in any case.
func (r *StoreReflector) pageSize(version string) int64 {
	switch {
	case r.WatchListPageSize != 0:
		return r.WatchListPageSize
	case r.inPages, version == "", version == "0":
		return defaultPageSize
	}
	return 0
}

// list asks for all objects, and again for the newest state if the server
// cannot serve the version.
func (r *StoreReflector) list(ctx context.Context, version string, pageSize int64) (got listing) {
	defer func() { got.panicked = recover() }()
	pages := pager.New(r.source.ListWithContext)
	pages.PageSize = pageSize
	got.list, got.inPages, got.err = pages.ListWithAlloc(ctx, metav1.ListOptions{ResourceVersion: version})
	if isExpired(got.err) || isTooLarge(got.err) {
		r.setUnavailable(true)
		got.list, got.inPages, got.err = pages.ListWithAlloc(ctx, metav1.ListOptions{ResourceVersion: r.listVersion()})
	}
	if got.err == nil && isTable(got.list) {
		got.err = fmt.Errorf("the server sent a list for people to read: %v", got.list.GetObjectKind().GroupVersionKind())
	}
	return got
}

// replace hands a list to the store.
func (r *StoreReflector) replace(list runtime.Object) error {
	metadata, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("unable to understand list result of type %T: %w", list, err)
	}
	objects, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return fmt.Errorf("unable to understand list result of type %T: %w", list, err)
	}
	items := make([]any, len(objects))
	for i, object := range objects {
		items[i] = object
	}
	version := metadata.GetResourceVersion()
	if err := r.store.Replace(items, version); err != nil {
		return fmt.Errorf("unable to sync list result: %w", err)
	}
	r.setVersion(version)
	return nil
}
