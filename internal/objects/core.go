package objects

import (
	"encoding/base64"
	"fmt"
	"iter"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespaces returns the namespaces of the cluster.
func (g *Generator) Namespaces() iter.Seq[*corev1.Namespace] {
	return sequence(g.opts.Namespaces, func(i int) *corev1.Namespace {
		r, name := g.randomFor("namespace", i), g.namespace(i)
		ns := &corev1.Namespace{
			ObjectMeta: g.meta(r, 1_000, i, "", name, map[string]string{corev1.LabelMetadataName: name, "team.example.com/name": pick(r, teams)}),
			Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		}
		ns.ManagedFields = g.oneManager("kubectl-create", "v1", ns.CreationTimestamp.Time, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: ns.Labels}})
		return ns
	})
}

// meta is the metadata of an object that belongs to no workload.
func (g *Generator) meta(r random, version, i int, namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: r.uid(), Labels: labels,
		ResourceVersion:   decimal(version + i),
		CreationTimestamp: stamp(r.before(g.opts.Now.Add(-time.Hour), 300*24*time.Hour)),
	}
}

func (g *Generator) oneManager(manager, apiVersion string, at time.Time, written any) []metav1.ManagedFieldsEntry {
	if g.opts.NoManagedFields {
		return nil
	}
	return []metav1.ManagedFieldsEntry{managedBy(manager, apiVersion, "", at, fieldsOf(written))}
}

// ConfigMaps returns n config maps, most of them a file or two of settings.
func (g *Generator) ConfigMaps(n int) iter.Seq[*corev1.ConfigMap] {
	return sequence(n, func(i int) *corev1.ConfigMap {
		r := g.randomFor("configmap", i)
		name := fmt.Sprintf("%s-%s-config-%s", pick(r, systems), pick(r, roles), base36(i))
		cm := &corev1.ConfigMap{
			ObjectMeta: g.meta(r, 100_000, i, g.namespace(r.IntN(g.opts.Namespaces)), name, map[string]string{
				"app.kubernetes.io/name": strings.TrimSuffix(name, "-config-"+base36(i)), "app.kubernetes.io/managed-by": pick(r, operators),
			}),
			Data: map[string]string{"config.yaml": settings(r, r.between(8, 60))},
		}
		for _, key := range configVariables[:r.between(0, len(configVariables))] {
			cm.Data[key] = r.suffix(r.between(4, 40))
		}
		if r.chance(0.2) {
			cm.Data["application.properties"] = strings.ReplaceAll(settings(r, r.between(10, 80)), ": ", "=")
		}
		cm.ManagedFields = g.oneManager("helm", "v1", cm.CreationTimestamp.Time, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: cm.Labels}, Data: cm.Data})
		return cm
	})
}

// settings is a file of the given number of lines.
func settings(r random, lines int) string {
	var out strings.Builder
	for range lines {
		v := pick(r, plainVariables)
		fmt.Fprintf(&out, "%s.%s.%s: %s\n", pick(r, systems), pick(r, roles), strings.ToLower(v.name), pick(r, v.values))
	}
	return out.String()
}

// Secrets returns n secrets: passwords, TLS pairs and helm releases.
func (g *Generator) Secrets(n int) iter.Seq[*corev1.Secret] {
	return sequence(n, func(i int) *corev1.Secret {
		r := g.randomFor("secret", i)
		base := pick(r, systems) + "-" + pick(r, roles)
		s := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
		suffix := "secrets"
		switch i % 10 {
		case 0:
			suffix, s.Type = "release.v"+decimal(r.between(1, 30)), "helm.sh/release.v1"
			s.Data["release"] = []byte(base64.StdEncoding.EncodeToString(r.bytes(make([]byte, r.between(2_000, 12_000)))))
		case 3, 6, 9:
			suffix, s.Type = "tls", corev1.SecretTypeTLS
			s.Data["tls.crt"], s.Data["tls.key"] = pem(r, "CERTIFICATE", 900), pem(r, "PRIVATE KEY", 1_200)
		default:
			for _, key := range secretVariables[:r.between(1, len(secretVariables))] {
				s.Data[key] = []byte(r.hex(2 * r.between(8, 32)))
			}
		}
		name := fmt.Sprintf("%s-%s-%s", base, base36(i), suffix)
		s.ObjectMeta = g.meta(r, 200_000, i, g.namespace(r.IntN(g.opts.Namespaces)), name, map[string]string{"app.kubernetes.io/name": base})
		s.ManagedFields = g.oneManager("helm", "v1", s.CreationTimestamp.Time, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: s.Labels}, Data: s.Data, Type: s.Type})
		return s
	})
}

func pem(r random, kind string, size int) []byte {
	text := base64.StdEncoding.EncodeToString(r.bytes(make([]byte, size)))
	return []byte("-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n")
}
