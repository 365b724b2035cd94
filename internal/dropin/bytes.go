package dropin

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// Bytes returns a ListWatch that asks a REST client for bytes, of which decode
// makes objects. It can share its watch where its tweak does nothing but select,
// and selects the same each time.
func Bytes(objects clientgo.ListerWatcher, client rest.Interface, q kube.Query, needs Needs, decode Decoder) *ListWatch {
	lw := &ListWatch{ListerWatcher: objects, Client: client, Needs: needs, Decode: decode}
	if selecting, ok := withoutTweak(q); ok {
		if lw.Share = ShareOf(client, selecting); lw.Share != (Share{}) {
			q = selecting
		}
	}
	lw.Query = q
	lw.Open = func(n Needs) engine.Source { return kube.NewSource(client, lw.Asked(n)) }
	return lw
}

// Asked is what the server is asked for, for readers of which the neediest has the
// given needs.
func (lw *ListWatch) Asked(n Needs) kube.Query {
	q := lw.Query
	q.MetadataOnly, q.Protobuf = n == Metadata, n != JSON
	return q
}

// withoutTweak returns a query that selects what the tweak of q does, if that is
// all that the tweak does.
func withoutTweak(q kube.Query) (kube.Query, bool) {
	if q.Tweak == nil {
		return q, true
	}
	tries := []metav1.ListOptions{{}, {Watch: true, ResourceVersion: "1", AllowWatchBookmarks: true}, {}}
	for i, plain := range tries {
		tweaked := plain
		q.Tweak(&tweaked)
		label, err := labels.Parse(tweaked.LabelSelector)
		if err != nil {
			return q, false
		}
		field, err := fields.ParseSelector(tweaked.FieldSelector)
		if err != nil {
			return q, false
		}
		tweaked.LabelSelector, tweaked.FieldSelector = "", ""
		same := i == 0 || label.String() == q.LabelSelector && field.String() == q.FieldSelector
		if !same || !equality.Semantic.DeepEqual(plain, tweaked) {
			return q, false
		}
		q.LabelSelector, q.FieldSelector = label.String(), field.String()
	}
	q.Tweak = nil
	return q, true
}
