package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func named(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// refusing is a store that refuses some objects, one by one or in transactions.
type refusing struct {
	Store
	names []string
}

func (r refusing) refuses(obj any) error {
	if p, ok := obj.(*corev1.Pod); ok && slices.Contains(r.names, p.Name) {
		return errors.New("refused")
	}
	return nil
}

func (r refusing) Add(obj any) error    { return errors.Join(r.refuses(obj), r.Store.Add(obj)) }
func (r refusing) Update(obj any) error { return errors.Join(r.refuses(obj), r.Store.Update(obj)) }
func (r refusing) Delete(obj any) error { return errors.Join(r.refuses(obj), r.Store.Delete(obj)) }

type refusingTransactions struct{ refusing }

func (r refusingTransactions) Transaction(txns ...Transaction) *TransactionError {
	failed := &TransactionError{TotalTransactions: len(txns)}
	for i, txn := range txns {
		if err := r.refuses(txn.Object); err != nil {
			failed.Errors = append(failed.Errors, err)
			continue
		}
		failed.SuccessfulIndices = append(failed.SuccessfulIndices, i)
	}
	if len(failed.Errors) == 0 {
		return nil
	}
	return failed
}

// TestHandlerIsToldOnlyWhatIsStored, in batches and one by one.
func TestHandlerIsToldOnlyWhatIsStored(t *testing.T) {
	batch := []Delta{
		{Type: Added, Object: named("a")}, {Type: Updated, Object: named("b")},
		{Type: Deleted, Object: named("c")}, {Type: Sync, Object: named("d")},
	}
	for _, refused := range [][]string{nil, {"b"}, {"c"}, {"a", "b", "c", "d"}} {
		store := refusing{NewStore(MetaNamespaceKeyFunc), refused}
		for _, s := range []Store{store, refusingTransactions{store}} {
			t.Run(fmt.Sprintf("%T %v", s, refused), func(t *testing.T) {
				var told []string
				tell := func(obj any) { told = append(told, obj.(*corev1.Pod).Name) }
				h := deltaHandler{store: s, keyFunc: MetaNamespaceKeyFunc, handler: ResourceEventHandlerFuncs{
					AddFunc: tell, DeleteFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) },
				}}
				err := h.processBatch(batch, false)
				if (err == nil) != (refused == nil) {
					t.Errorf("error: %v", err)
				}
				var want []string
				for _, name := range []string{"a", "b", "c", "d"} {
					if !slices.Contains(refused, name) {
						want = append(want, name)
					}
				}
				if !slices.Equal(told, want) {
					t.Errorf("told of %v, want %v", told, want)
				}
			})
		}
	}
}

func TestHandlerOfDeltasSaysWhatItCannotDo(t *testing.T) {
	h := deltaHandler{store: NewStore(MetaNamespaceKeyFunc), handler: ResourceEventHandlerFuncs{}, keyFunc: MetaNamespaceKeyFunc}
	for want, obj := range map[string]any{
		"is not Deltas": "no Deltas",
		"did not contain ReplacedAllInfo: string": Deltas{{Type: ReplacedAll, Object: "?"}},
		"did not contain SyncAllInfo: string":     Deltas{{Type: SyncAll, Object: "?"}},
		"did not contain BookmarkInfo: string":    Deltas{{Type: Bookmark, Object: "?"}},
		"couldn't create key for object ?":        Deltas{{Type: ReplacedAll, Object: ReplacedAllInfo{Objects: []any{"?"}}}},
	} {
		if err := h.process(obj, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := h.processBatch([]Delta{{Type: SyncAll}}, false); err == nil {
		t.Error("a batch with what concerns all objects was accepted")
	}
}
