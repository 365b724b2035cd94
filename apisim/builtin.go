package apisim

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
)

// traits are what the server knows of a kind beyond its Go type, as words:
//
//	cluster    not namespaced
//	status     has the status subresource
//	scale      has the scale subresource
//	generation counts changes of everything but metadata and status
//	returned   a deletion answers with the object instead of a Status
//	locked     an update must name the resource version it replaces
//	upsert     an update of an object that is not there creates it
//	nodelall   no deletecollection
//	readonly   get and list only
//
// Words with a prefix: short:po, category:all, sub:eviction (a subresource
// that discovery names and that is answered with 501).
type traits string

// builtinKinds lists the kinds of client-go's scheme that a server keeps, by
// group. Versions come from the scheme.
var builtinKinds = map[string]map[string]traits{
	"": {
		"ComponentStatus":       "cluster readonly short:cs",
		"ConfigMap":             "short:cm",
		"Endpoints":             "upsert short:ep",
		"Event":                 "upsert short:ev",
		"LimitRange":            "upsert short:limits",
		"Namespace":             "cluster status returned nodelall short:ns sub:finalize",
		"Node":                  "cluster status short:no sub:proxy",
		"PersistentVolume":      "cluster status returned short:pv",
		"PersistentVolumeClaim": "status returned short:pvc",
		"Pod": "status generation returned short:po category:all sub:attach sub:binding sub:ephemeralcontainers " +
			"sub:eviction sub:exec sub:log sub:portforward sub:proxy sub:resize",
		"PodTemplate":           "generation returned",
		"ReplicationController": "status scale generation short:rc category:all",
		"ResourceQuota":         "status returned short:quota",
		"Secret":                "",
		"Service":               "status returned upsert short:svc category:all sub:proxy",
		"ServiceAccount":        "returned short:sa sub:token",
	},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy":          "cluster generation locked category:api-extensions",
		"MutatingAdmissionPolicyBinding":   "cluster generation locked category:api-extensions",
		"MutatingWebhookConfiguration":     "cluster generation locked category:api-extensions",
		"ValidatingAdmissionPolicy":        "cluster status generation locked category:api-extensions",
		"ValidatingAdmissionPolicyBinding": "cluster generation locked category:api-extensions",
		"ValidatingWebhookConfiguration":   "cluster generation locked category:api-extensions",
	},
	"apps": {
		"ControllerRevision": "",
		"DaemonSet":          "status generation short:ds category:all",
		"Deployment":         "status scale generation short:deploy category:all",
		"ReplicaSet":         "status scale generation short:rs category:all",
		"StatefulSet":        "status scale generation short:sts category:all",
	},
	"autoscaling": {
		"HorizontalPodAutoscaler": "status short:hpa category:all",
	},
	"batch": {
		"CronJob": "status generation short:cj category:all",
		"Job":     "status generation category:all",
	},
	"certificates.k8s.io": {
		"CertificateSigningRequest": "cluster status short:csr sub:approval",
		"ClusterTrustBundle":        "cluster locked",
		"PodCertificateRequest":     "status locked",
	},
	"coordination.k8s.io": {
		"Lease":          "locked upsert",
		"LeaseCandidate": "locked upsert",
	},
	"discovery.k8s.io": {
		"EndpointSlice": "generation",
	},
	"events.k8s.io": {
		"Event": "upsert short:ev",
	},
	"extensions": {
		"DaemonSet":     "status generation",
		"Deployment":    "status scale generation",
		"Ingress":       "status generation",
		"NetworkPolicy": "generation",
		"ReplicaSet":    "status scale generation",
	},
	"flowcontrol.apiserver.k8s.io": {
		"FlowSchema":                 "cluster status generation",
		"PriorityLevelConfiguration": "cluster status generation",
	},
	"internal.apiserver.k8s.io": {
		"StorageVersion": "cluster status locked",
	},
	"lifecycle.k8s.io": {
		"Eviction":        "status",
		"EvictionRequest": "status",
	},
	"networking.k8s.io": {
		"IPAddress":     "cluster short:ip",
		"Ingress":       "status generation short:ing",
		"IngressClass":  "cluster generation",
		"NetworkPolicy": "generation short:netpol",
		"ServiceCIDR":   "cluster status",
	},
	"node.k8s.io": {
		"RuntimeClass": "cluster locked upsert",
	},
	"policy": {
		"PodDisruptionBudget": "status generation locked short:pdb",
	},
	"rbac.authorization.k8s.io": {
		"ClusterRole":        "cluster upsert",
		"ClusterRoleBinding": "cluster upsert",
		"Role":               "upsert",
		"RoleBinding":        "upsert",
	},
	"resource.k8s.io": {
		"DeviceClass":               "cluster generation returned",
		"DeviceTaintRule":           "cluster status generation returned",
		"ResourceClaim":             "status returned",
		"ResourceClaimTemplate":     "returned",
		"ResourcePoolStatusRequest": "cluster status returned locked",
		"ResourceSlice":             "cluster generation returned",
	},
	"scheduling.k8s.io": {
		"CompositePodGroup": "status",
		"PodGroup":          "status",
		"PriorityClass":     "cluster generation short:pc",
		"Workload":          "",
	},
	"storage.k8s.io": {
		"CSIDriver":             "cluster returned locked",
		"CSINode":               "cluster returned locked",
		"CSIStorageCapacity":    "locked",
		"StorageClass":          "cluster returned short:sc",
		"VolumeAttachment":      "cluster status returned locked",
		"VolumeAttributesClass": "cluster returned short:vac",
	},
	"storagemigration.k8s.io": {
		"StorageVersionMigration": "cluster status locked",
	},
}

// groupOrder is the order in which discovery names the groups, which decides
// for kubectl which group a short word such as "events" means.
var groupOrder = []string{
	"", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
	"apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io", "discovery.k8s.io",
	"resource.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "storagemigration.k8s.io", "lifecycle.k8s.io",
	"extensions",
}

// sharedStorage names resources that are another view of the objects of a
// resource in a different group.
var sharedStorage = map[schema.GroupResource]schema.GroupResource{
	{Group: "events.k8s.io", Resource: "events"}: {Resource: "events"},
}

func (t traits) has(word string) bool {
	for w := range strings.FieldsSeq(string(t)) {
		if w == word {
			return true
		}
	}
	return false
}

func (t traits) all(prefix string) []string {
	var out []string
	for w := range strings.FieldsSeq(string(t)) {
		if rest, ok := strings.CutPrefix(w, prefix); ok {
			out = append(out, rest)
		}
	}
	return out
}

// builtinResources makes the resources of client-go's scheme. Versions of one
// kind share a collection, kept in the version that the real server prefers.
func builtinResources(history int) []*resource {
	versions := map[schema.GroupKind][]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if _, ok := builtinKinds[gvk.Group][gvk.Kind]; ok {
			versions[gvk.GroupKind()] = append(versions[gvk.GroupKind()], gvk.Version)
		}
	}
	collections := map[schema.GroupResource]*collection{}
	var out []*resource
	for _, group := range groupOrder {
		kinds := builtinKinds[group]
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			names := versions[schema.GroupKind{Group: group, Kind: kind}]
			slices.SortFunc(names, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
			for _, v := range names {
				gvk := schema.GroupVersionKind{Group: group, Version: v, Kind: kind}
				out = append(out, builtinResource(gvk, kinds[kind], collections, history))
			}
		}
	}
	return out
}

func builtinResource(gvk schema.GroupVersionKind, t traits, collections map[schema.GroupResource]*collection, history int) *resource {
	plural, singular := meta.UnsafeGuessKindToResource(gvk)
	gr := plural.GroupResource()
	if shared, ok := sharedStorage[gr]; ok {
		gr = shared
	}
	c := collections[gr]
	if c == nil {
		c = newCollection(gr, typedCodec{gvk: gvk}, history)
		collections[gr] = c
	}
	return &resource{
		gvr:        plural,
		gvk:        gvk,
		singular:   singular.Resource,
		namespaced: !t.has("cluster"),
		traits:     t,
		store:      c,
	}
}

var (
	allVerbs      = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	noDeleteAll   = metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	readOnlyVerbs = metav1.Verbs{"get", "list"}
)

// verbs of the resource itself.
func (t traits) verbs() metav1.Verbs {
	switch {
	case t.has("readonly"):
		return readOnlyVerbs
	case t.has("nodelall"):
		return noDeleteAll
	}
	return allVerbs
}
