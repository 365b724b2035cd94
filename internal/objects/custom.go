package objects

import (
	"fmt"
	"iter"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CustomResource is the resource of the objects that CustomResources makes.
var CustomResource = schema.GroupVersionResource{Group: "data.example.com", Version: "v1", Resource: "databases"}

// CustomResourceKind is their kind.
var CustomResourceKind = CustomResource.GroupVersion().WithKind("Database")

// CustomResourceDefinition returns the definition that makes a server serve
// CustomResource: namespaced, with a status subresource and printer columns.
func CustomResourceDefinition() *unstructured.Unstructured {
	column := func(name, kind, path string) any {
		return map[string]any{"name": name, "type": kind, "jsonPath": path}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": CustomResource.Resource + "." + CustomResource.Group},
		"spec": map[string]any{
			"group": CustomResource.Group, "scope": "Namespaced",
			"names": map[string]any{
				"plural": CustomResource.Resource, "singular": "database", "kind": CustomResourceKind.Kind,
				"listKind": CustomResourceKind.Kind + "List", "shortNames": []any{"dbs"}, "categories": []any{"all"},
			},
			"versions": []any{map[string]any{
				"name": CustomResource.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
				"additionalPrinterColumns": []any{
					column("Engine", "string", ".spec.engine.name"),
					column("Replicas", "integer", ".spec.replicas"),
					column("Phase", "string", ".status.phase"),
					column("Age", "date", ".metadata.creationTimestamp"),
				},
			}},
		},
	}}
}

// CustomResources returns n objects of CustomResource.
func (g *Generator) CustomResources(n int) iter.Seq[*unstructured.Unstructured] {
	return sequence(n, g.customResource)
}

func (g *Generator) customResource(i int) *unstructured.Unstructured {
	r := g.randomFor("customresource", i)
	name := fmt.Sprintf("%s-%s-db-%s", pick(r, systems), pick(r, roles), base36(i))
	replicas := r.between(1, 5)
	meta := g.meta(r, 800_000, i, g.namespace(r.IntN(g.opts.Namespaces)), name, map[string]string{
		"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": pick(r, operators), "team.example.com/name": pick(r, teams),
	})
	obj := &unstructured.Unstructured{Object: map[string]any{
		"spec":   databaseSpec(r, name, replicas),
		"status": databaseStatus(r, name, replicas, meta.CreationTimestamp.Time, g.opts.Now),
	}}
	obj.SetGroupVersionKind(CustomResourceKind)
	obj.SetNamespace(meta.Namespace)
	obj.SetName(meta.Name)
	obj.SetUID(meta.UID)
	obj.SetLabels(meta.Labels)
	obj.SetGeneration(int64(r.between(1, 30)))
	obj.SetResourceVersion(meta.ResourceVersion)
	obj.SetCreationTimestamp(meta.CreationTimestamp)
	obj.SetFinalizers([]string{"data.example.com/backup"})
	if !g.opts.NoManagedFields {
		apiVersion := CustomResource.GroupVersion().String()
		written := map[string]any{"metadata": map[string]any{"labels": anyMap(meta.Labels)}, "spec": obj.Object["spec"]}
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{
			managedBy("kubectl-client-side-apply", apiVersion, "", meta.CreationTimestamp.Time, fieldsOfMap(written)),
			managedBy("database-operator", apiVersion, "status", g.opts.Now.Add(-time.Duration(i%600)*time.Second),
				fieldsOfMap(map[string]any{"status": maps.Clone(obj.Object["status"].(map[string]any))})),
		})
	}
	return obj
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func databaseSpec(r random, name string, replicas int) map[string]any {
	parameters := map[string]any{}
	for _, p := range []string{"max_connections", "shared_buffers", "work_mem", "wal_level", "checkpoint_timeout", "random_page_cost", "statement_timeout", "log_min_duration"} {
		if r.chance(0.4) {
			parameters[p] = fmt.Sprintf("%d", r.between(1, 5_000))
		}
	}
	users := make([]any, r.between(1, 2))
	for i := range users {
		users[i] = map[string]any{
			"name":       pick(r, systems) + "_" + pick(r, []string{"rw", "ro", "admin"}),
			"passwordIn": map[string]any{"secretName": name + "-users", "key": "password-" + decimal(i)},
			"databases":  []any{pick(r, systems), pick(r, systems)},
		}
	}
	return map[string]any{
		"engine":   map[string]any{"name": pick(r, []string{"postgres", "mysql", "mariadb"}), "version": versionOf(r), "image": pick(r, registries) + "/db:" + versionOf(r)},
		"replicas": int64(replicas),
		"storage":  map[string]any{"size": fmt.Sprintf("%dGi", r.between(10, 2_000)), "className": pick(r, []string{"gp3", "io2", "standard"}), "encrypted": r.chance(0.8)},
		"resources": map[string]any{
			"requests": map[string]any{"cpu": decimal(r.between(1, 16)), "memory": decimal(r.between(2, 64)) + "Gi"},
			"limits":   map[string]any{"memory": decimal(r.between(64, 128)) + "Gi"},
		},
		"backup": map[string]any{
			"schedule": fmt.Sprintf("%d %d * * *", r.IntN(60), r.IntN(24)), "retentionDays": int64(r.between(7, 90)),
			"target": map[string]any{"bucket": "backups-" + pick(r, teams), "prefix": name + "/", "credentials": map[string]any{"secretName": name + "-backup"}},
		},
		"parameters":  parameters,
		"users":       users,
		"maintenance": map[string]any{"window": map[string]any{"day": pick(r, []string{"Sun", "Tue", "Wed"}), "start": fmt.Sprintf("%02d:00", r.IntN(24)), "duration": "2h"}},
	}
}

func databaseStatus(r random, name string, replicas int, created, now time.Time) map[string]any {
	members := make([]any, replicas)
	for i := range members {
		members[i] = map[string]any{
			"pod": name + "-" + decimal(i), "role": pick(r, []string{"replica", "witness"}), "lagBytes": r.Int64N(1 << 20),
			"address": fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256)), "timeline": int64(r.between(1, 9)),
		}
	}
	members[0].(map[string]any)["role"] = "primary"
	conditions := []any{}
	for _, kind := range []string{"Ready", "Progressing", "BackupHealthy"} {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": pick(r, []string{"True", "True", "True", "False"}), "reason": "Reconciled", "observedGeneration": int64(1),
			"message": "all members of " + name + " report " + kind, "lastTransitionTime": stamp(r.before(now, now.Sub(created))).Format(time.RFC3339),
		})
	}
	return map[string]any{
		"phase": pick(r, []string{"Running", "Running", "Running", "Updating", "Degraded"}), "members": members, "conditions": conditions,
		"endpoints":  map[string]any{"write": name + "-rw.svc.cluster.local:5432", "read": name + "-ro.svc.cluster.local:5432"},
		"lastBackup": map[string]any{"id": r.hex(24), "time": stamp(r.before(now, 24*time.Hour)).Format(time.RFC3339), "bytes": r.Int64N(1 << 38)},
	}
}
