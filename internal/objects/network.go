package objects

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EndpointSlices returns n endpoint slices, each of the first pods of one workload.
func (g *Generator) EndpointSlices(n int) iter.Seq[*discoveryv1.EndpointSlice] {
	return sequence(n, func(i int) *discoveryv1.EndpointSlice { return g.nth(ofReplicaSet, i).endpointSlice(i) })
}

func (w *workload) endpointSlice(i int) *discoveryv1.EndpointSlice {
	r := w.g.randomFor("endpointslice", w.index)
	yes, tcp, port, name := true, corev1.ProtocolTCP, int32(8080), "http"
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: w.g.meta(r, 400_000, i, w.namespace, w.name+"-"+r.suffix(5), map[string]string{
			discoveryv1.LabelServiceName: w.name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io", "app.kubernetes.io/name": w.name,
		}),
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &tcp, Port: &port}},
	}
	s.GenerateName, s.Generation = w.name+"-", int64(r.between(1, 500))
	s.Annotations = map[string]string{corev1.EndpointsLastChangeTriggerTime: s.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z")}
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: w.name, UID: r.uid(), Controller: &yes, BlockOwnerDeletion: &yes}}
	for ordinal := range int(w.replicas()) {
		node := w.node(ordinal)
		nodeName, zone := w.g.nodeName(node), zones[node%len(zones)]
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{w.podAddress(ordinal)}, NodeName: &nodeName, Zone: &zone,
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: new(bool)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: w.podName(ordinal), UID: w.podRandom(ordinal).uid()},
		})
	}
	written := *s
	s.ManagedFields = w.g.oneManager("kube-controller-manager", "discovery.k8s.io/v1", s.CreationTimestamp.Time, writtenBy(&written))
	return s
}
