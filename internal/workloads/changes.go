package workloads

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/objects"
)

type change = func(done float64) error

// shortLivedEvents deletes the oldest event and makes a new one, in turn.
func shortLivedEvents(l *load, alive int) (change, error) {
	models := take(objects.New(objects.Options{Seed: 1}).Events(alive))
	made := 0
	next := func() *corev1.Event {
		e := *models[made%alive]
		made++
		e.UID, e.ResourceVersion = "", ""
		e.Name = fmt.Sprintf("%s.%x", e.InvolvedObject.Name, l.filled(8))
		e.InvolvedObject.UID = types.UID(fmt.Sprintf("%x", l.filled(16)))
		e.Message += " " + base64.RawURLEncoding.EncodeToString(l.filled(48))
		e.LastTimestamp = metav1.NewTime(time.Unix(1_700_000_000+int64(made), 0))
		e.CreationTimestamp = metav1.Time{}
		return &e
	}
	var all []*corev1.Event // a ring
	for range alive {
		all = append(all, next())
	}
	turn := 0
	return func(float64) error {
		turn++
		place := &all[(turn-1)/2%alive]
		if turn%2 == 0 {
			*place = next()
			return l.create(*place)
		}
		return l.remove(events, *place)
	}, l.create(asObjects(all)...)
}

// renewedLeases renews leases in turn.
func renewedLeases(l *load, count int) (change, error) {
	var all []*coordinationv1.Lease
	for i := range count {
		name := fmt.Sprintf("node-%03d", i)
		seconds := int32(40)
		all = append(all, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-node-lease"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds},
		})
	}
	for _, lease := range all {
		if err := l.create(lease); err != nil {
			return nil, err
		}
		// Leases are not updated without the version that is replaced.
		lease.ResourceVersion = strconv.FormatUint(l.server.ResourceVersion(), 10)
	}
	i := 0
	return func(float64) error {
		lease := all[i%count]
		now := metav1.NowMicro()
		transitions := int32(i) // so that no two states are equal, however coarse the clock
		lease.Spec.RenewTime, lease.Spec.LeaseTransitions = &now, &transitions
		i++
		return l.update(leases, lease)
	}, nil
}

// randomBytes has objects whose bytes are random, and new at each update.
func randomBytes(resources []schema.GroupVersionResource, size int) func(*load, int) (change, error) {
	return func(l *load, each int) (change, error) {
		type one struct {
			of  schema.GroupVersionResource
			obj object
		}
		refill := func(o object) {
			switch o := o.(type) {
			case *corev1.Secret:
				o.Data = map[string][]byte{"data": l.filled(size)}
			case *corev1.ConfigMap:
				o.BinaryData = map[string][]byte{"data": l.filled(size)}
			}
		}
		var all []one
		for i := range each {
			for _, r := range resources {
				meta := metav1.ObjectMeta{Name: fmt.Sprintf("data-%04d", i), Namespace: "default"}
				var o object = &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque}
				if r == configMaps {
					o = &corev1.ConfigMap{ObjectMeta: meta}
				}
				refill(o)
				if err := l.create(o); err != nil {
					return nil, err
				}
				refill(o) // what is sent next must differ
				all = append(all, one{r, o})
			}
		}
		i := 0
		return func(float64) error {
			o := all[i%len(all)]
			i++
			refill(o.obj)
			return l.update(o.of, o.obj)
		}, nil
	}
}

// growingSlices adds endpoints to slices in turn, until they have a thousand.
func growingSlices(l *load, count int) (change, error) {
	const fewest, most = 10, 1000
	all := take(objects.New(objects.Options{Seed: 1}).EndpointSlices(count))
	grow := func(s *discoveryv1.EndpointSlice, to int) {
		for i := len(s.Endpoints); i < to; i++ {
			yes := true
			node, zone := fmt.Sprintf("node-%03d", l.chance.IntN(300)), fmt.Sprintf("zone-%d", i%3)
			pod := fmt.Sprintf("%s-%05x", s.GenerateName, l.chance.IntN(1<<20))
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", l.chance.IntN(256), l.chance.IntN(256), l.chance.IntN(256))},
				Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes},
				NodeName:   &node, Zone: &zone,
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: s.Namespace, Name: pod},
			})
		}
	}
	for i, s := range all {
		all[i] = s.DeepCopy()
		all[i].UID, all[i].ResourceVersion, all[i].ManagedFields = "", "", nil
		all[i].Name = fmt.Sprintf("%s%d", all[i].GenerateName, i)
		all[i].Endpoints = nil
		grow(all[i], fewest)
	}
	i := 0
	return func(done float64) error {
		s := all[i%count]
		i++
		s.Annotations[corev1.EndpointsLastChangeTriggerTime] = time.Unix(int64(i), 0).UTC().Format(time.RFC3339)
		grow(s, fewest+int(done*(most-fewest)))
		return l.update(endpointSlices, s)
	}, l.create(asObjects(all)...)
}

// largeCustom has custom resources of about a size in JSON, which have a part of
// their status changed in turn: one of so many steps.
func largeCustom(size, oneOf int) func(*load, int) (change, error) {
	return func(l *load, count int) (change, error) {
		if err := l.create(objects.CustomResourceDefinition()); err != nil {
			return nil, err
		}
		all := take(objects.New(objects.Options{Seed: 1}).CustomResources(count))
		for _, o := range all {
			o.SetResourceVersion("")
			o.SetManagedFields(nil)
			o.Object["status"] = map[string]any{"phase": "Running", "steps": l.steps(size)}
			if err := l.create(o); err != nil {
				return nil, err
			}
		}
		i := 0
		return func(float64) error {
			o := all[i%count]
			i++
			status := o.Object["status"].(map[string]any)
			for n, step := range status["steps"].([]any) {
				if (n+i)%oneOf == 0 {
					step.(map[string]any)["output"] = l.words(96)
				}
			}
			status["phase"] = fmt.Sprintf("Running %d", i)
			return l.updateStatus(databases, o)
		}, nil
	}
}

// steps is a list that takes about so many bytes in JSON.
func (l *load) steps(size int) []any {
	const each = 217
	var all []any
	for n := range size / each {
		all = append(all, map[string]any{
			"name":     fmt.Sprintf("step-%04d", n),
			"state":    "Done",
			"started":  time.Unix(1_700_000_000+int64(n), 0).UTC().Format(time.RFC3339),
			"attempts": int64(n % 7),
			"output":   l.words(96),
		})
	}
	return all
}

// words are so many random bytes as text.
func (l *load) words(n int) string { return base64.RawStdEncoding.EncodeToString(l.filled(n)) }
