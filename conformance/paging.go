package conformance

import (
	"encoding/base64"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var pagingCases = []Case{
	{Name: "paging/pages cover everything once, in order", run: pagesCoverEverything},
	{Name: "paging/pages are of one state, whatever is written between them", run: pagesOfOneState},
	{Name: "paging/a page counts what remains", run: pageCountsRest},
	{Name: "paging/a page of a selection does not count what remains", run: selectedPageDoesNotCount},
	{Name: "paging/a limit that is not reached gives no token", run: pageHoldsAll},
	{Name: "paging/pages over all namespaces", run: pagesOverNamespaces},
	{Name: "paging/pages of a selection are full", run: selectedPagesAreFull},
	{Name: "paging/a token is good more than once", run: tokenTwice},
	{Name: "paging/the limit may change between pages", run: limitChanges},
	{Name: "paging/version 0 takes no notice of the limit", run: limitAtAnyVersion},
	{Name: "paging/a token with a version is a bad request", run: tokenWithVersion},
	{Name: "paging/a token with version 0 goes on", run: tokenWithVersionZero},
	{Name: "paging/a token that is none is a bad request", run: badToken},
	{Name: "paging/a watch from the version of the pages delivers what follows", run: watchAfterPages},
}

// pages lists to the end and returns every page.
func (e *env) pages(path string, query params) []*unstructured.UnstructuredList {
	e.Helper()
	first := e.list(e.get(path, query))
	all := []*unstructured.UnstructuredList{first}
	for token := first.GetContinue(); token != ""; {
		next := params{"continue": token}
		for _, keep := range []string{"limit", "labelSelector", "fieldSelector"} {
			if query[keep] != "" {
				next[keep] = query[keep]
			}
		}
		page := e.list(e.get(path, next))
		all = append(all, page)
		token = page.GetContinue()
	}
	return all
}

func pagesCoverEverything(e *env) {
	e.createAll("a", "b", "c", "d", "e")
	pages := e.pages(e.configMaps(), params{"limit": "2"})
	if len(pages) != 3 {
		e.Fatalf("%d pages, want 3", len(pages))
	}
	e.wantNames(pages[0], "a", "b")
	e.wantNames(pages[1], "c", "d")
	e.wantNames(pages[2], "e")
	for _, page := range pages {
		if page.GetKind() != "ConfigMapList" || page.GetResourceVersion() != pages[0].GetResourceVersion() {
			e.Errorf("a page is a %s of version %s, the first is of version %s", page.GetKind(), page.GetResourceVersion(), pages[0].GetResourceVersion())
		}
	}
}

func pagesOfOneState(e *env) {
	e.createAll("a", "b", "c", "d")
	first := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	e.create("bb", nil)
	e.set("c", "k", "later")
	e.remove("d")
	rest := e.list(e.get(e.configMaps(), params{"continue": first.GetContinue()}))
	e.wantNames(rest, "b", "c", "d")
	if rest.Items[1].Object["data"] != nil {
		e.Error("a page shows what was written after the first")
	}
	if rest.GetResourceVersion() != first.GetResourceVersion() {
		e.Errorf("pages of versions %s and %s", first.GetResourceVersion(), rest.GetResourceVersion())
	}
}

func pageCountsRest(e *env) {
	e.createAll("a", "b", "c", "d", "e")
	wants := []int64{3, 1}
	for i, page := range e.pages(e.configMaps(), params{"limit": "2"}) {
		switch count := page.GetRemainingItemCount(); {
		case i < len(wants) && (count == nil || *count != wants[i]):
			e.Errorf("page %d says that %v remain, want %d", i, count, wants[i])
		case i >= len(wants) && count != nil:
			e.Errorf("the last page says that %d remain, want nothing said", *count)
		}
	}
}

func selectedPageDoesNotCount(e *env) {
	for _, name := range []string{"a", "b", "c"} {
		e.create(name, labels{"x": "y"})
	}
	page := e.list(e.get(e.configMaps(), params{"limit": "1", "labelSelector": "x=y"}))
	if count := page.GetRemainingItemCount(); count != nil {
		e.Errorf("a page of a selection says that %d remain, want nothing said", *count)
	}
	if page.GetContinue() == "" {
		e.Error("a page of a selection lacks a token")
	}
}

func pageHoldsAll(e *env) {
	e.createAll("a", "b")
	for _, limit := range []string{"2", "3", "0"} {
		list := e.list(e.get(e.configMaps(), params{"limit": limit}))
		e.wantNames(list, "a", "b")
		if list.GetContinue() != "" || list.GetRemainingItemCount() != nil {
			e.Errorf("limit %s: all is there, and yet token %q", limit, list.GetContinue())
		}
	}
}

func pagesOverNamespaces(e *env) {
	mark := labels{"case": e.ns}
	query := params{"limit": "1", "labelSelector": "case=" + e.ns}
	e.create("a", mark)
	e.create("b", mark)
	e.ns = e.newNamespace()
	e.create("a", mark)
	seen := map[string]int{}
	for _, page := range e.pages(core+"/configmaps", query) {
		// The last page may be empty: what follows in the server need not be selected.
		if len(page.Items) > 1 || len(page.Items) == 0 && page.GetContinue() != "" {
			e.Errorf("a page holds %v, want one object", namesOf(page))
		}
		for _, item := range page.Items {
			seen[item.GetNamespace()+"/"+item.GetName()]++
		}
	}
	if len(seen) != 3 {
		e.Errorf("the pages hold %v, want 3 objects, each once", seen)
	}
}

func selectedPagesAreFull(e *env) {
	for _, name := range strings.Split("abcdefgh", "") {
		e.create(name, labels{"odd": map[bool]string{true: "yes", false: "no"}[strings.Contains("aceg", name)]})
	}
	pages := e.pages(e.configMaps(), params{"limit": "2", "labelSelector": "odd=no"})
	if len(pages) != 2 {
		e.Fatalf("%d pages, want 2", len(pages))
	}
	e.wantNames(pages[0], "b", "d")
	e.wantNames(pages[1], "f", "h")
}

func tokenTwice(e *env) {
	e.createAll("a", "b")
	first := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	for range 2 {
		e.wantNames(e.list(e.get(e.configMaps(), params{"continue": first.GetContinue()})), "b")
	}
}

func limitChanges(e *env) {
	e.createAll("a", "b", "c", "d")
	first := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	second := e.list(e.get(e.configMaps(), params{"continue": first.GetContinue(), "limit": "2"}))
	e.wantNames(second, "b", "c")
	e.wantNames(e.list(e.get(e.configMaps(), params{"continue": second.GetContinue()})), "d")
}

func limitAtAnyVersion(e *env) {
	last := e.createAll("a", "b", "c")
	// A list at least as new as the last write first, so that any state holds all.
	e.list(e.get(e.configMaps(), params{"resourceVersion": last.ResourceVersion}))
	list := e.list(e.get(e.configMaps(), params{"resourceVersion": "0", "limit": "1"}))
	e.wantNames(list, "a", "b", "c")
	if list.GetContinue() != "" {
		e.Errorf("a whole list has token %q", list.GetContinue())
	}
}

func tokenWithVersion(e *env) {
	last := e.createAll("a", "b")
	first := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	a := e.get(e.configMaps(), params{"continue": first.GetContinue(), "resourceVersion": last.ResourceVersion})
	e.wantFailure(a, http.StatusBadRequest, metav1.StatusReasonBadRequest)
}

func tokenWithVersionZero(e *env) {
	e.createAll("a", "b")
	first := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	e.wantNames(e.list(e.get(e.configMaps(), params{"continue": first.GetContinue(), "resourceVersion": "0"})), "b")
}

func badToken(e *env) {
	e.createAll("a", "b")
	for _, token := range []string{
		"nonsense",
		"%%%",
		base64.RawURLEncoding.EncodeToString([]byte("{}")),
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v9","rv":1,"start":"x"}`)),
	} {
		for _, query := range []params{{"continue": token}, {"continue": token, "limit": "1"}} {
			e.wantFailure(e.get(e.configMaps(), query), http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
	}
}

func watchAfterPages(e *env) {
	e.createAll("a", "b", "c")
	first := e.list(e.get(e.configMaps(), params{"limit": "2"}))
	e.create("d", nil)
	rest := e.list(e.get(e.configMaps(), params{"continue": first.GetContinue()}))
	e.wantNames(rest, "c")
	w := e.watch(e.configMaps(), params{"resourceVersion": rest.GetResourceVersion()})
	w.want("ADDED", "d")
	e.create("e", nil)
	w.want("ADDED", "e")
}
