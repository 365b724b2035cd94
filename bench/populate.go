package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/test/apiserver"
)

// populatePods puts n varied pods onto the server. The first pod of each workload is
// created through kube-apiserver, so that defaults and managedFields are the
// server's own; its siblings are made from what was stored, and written to etcd.
func populatePods(ctx context.Context, s *apiserver.Server, n int) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	p := podPopulator{spaces: spaces{client: client}, ctx: ctx, server: s}
	return p.put(objects.New(objects.Options{Seed: 1}).Pods(n))
}

// put puts pods onto the server, in the way that populatePods describes.
func (p *podPopulator) put(all iter.Seq[*corev1.Pod]) error {
	p.templates = map[string]*corev1.Pod{}
	if err := p.server.PutMany(p.ctx, p.pods(all)); err != nil {
		return err
	}
	return p.err
}

type podPopulator struct {
	spaces
	ctx       context.Context
	server    *apiserver.Server
	orphans   bool                   // the pods have no owners when they are on the server
	templates map[string]*corev1.Pod // by owner
	err       error
}

// pods yields the etcd entries of the pods that are made from templates.
func (p *podPopulator) pods(all iter.Seq[*corev1.Pod]) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for pod := range all {
			owner := string(metav1.GetControllerOf(pod).UID)
			template := p.templates[owner]
			if template == nil {
				if template, p.err = p.create(pod); p.err != nil {
					return
				}
				p.templates[owner] = template
				continue
			}
			var value []byte
			if value, p.err = encode(sibling(template, pod)); p.err != nil {
				return
			}
			if !yield(fmt.Sprintf("/registry/pods/%s/%s", pod.Namespace, pod.Name), value) {
				return
			}
		}
	}
}

// create makes a pod and its status through the server, and returns what etcd
// has of it.
func (p *podPopulator) create(pod *corev1.Pod) (*corev1.Pod, error) {
	if err := p.ensure(p.ctx, pod.Namespace); err != nil {
		return nil, err
	}
	fresh := pod.DeepCopy()
	fresh.ResourceVersion, fresh.ManagedFields = "", nil
	if p.orphans {
		fresh.OwnerReferences = nil
	}
	pods := p.client.CoreV1().Pods(pod.Namespace)
	created, err := pods.Create(p.ctx, fresh, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
	if err != nil {
		return nil, fmt.Errorf("create %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	created.Status = *pod.Status.DeepCopy()
	if _, err := pods.UpdateStatus(p.ctx, created, metav1.UpdateOptions{FieldManager: "kubelet"}); err != nil {
		return nil, fmt.Errorf("update the status of %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	raw, err := p.server.GetRaw(p.ctx, fmt.Sprintf("/registry/pods/%s/%s", pod.Namespace, pod.Name))
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

// sibling is the template with what differs between pods of one owner.
func sibling(template, pod *corev1.Pod) *corev1.Pod {
	s := *template
	s.Name, s.UID, s.Labels, s.Annotations = pod.Name, pod.UID, pod.Labels, pod.Annotations
	s.CreationTimestamp = pod.CreationTimestamp
	s.Spec.NodeName, s.Spec.Hostname = pod.Spec.NodeName, pod.Spec.Hostname
	s.Status = pod.Status
	return &s
}

// spaces makes namespaces that are missing.
type spaces struct {
	client kubernetes.Interface
	there  map[string]bool
}

func (s *spaces) ensure(ctx context.Context, name string) error {
	if s.there[name] {
		return nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := s.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the namespace %s: %w", name, err)
	}
	if s.there == nil {
		s.there = map[string]bool{}
	}
	s.there[name] = true
	return nil
}

var magic = []byte("k8s\x00")

// encode writes a pod as etcd has it, and as it is sent on its own.
func encode(pod *corev1.Pod) ([]byte, error) { return encodeObject("v1", "Pod", pod) }

func encodeObject(apiVersion, kind string, obj interface{ Marshal() ([]byte, error) }) ([]byte, error) {
	raw, err := obj.Marshal()
	if err != nil {
		return nil, err
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	body, err := u.Marshal()
	return append(bytes.Clone(magic), body...), err
}

func decode(raw []byte) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, decodeInto(raw, pod)
}

func decodeInto(raw []byte, obj interface{ Unmarshal([]byte) error }) error {
	var u runtime.Unknown
	if err := u.Unmarshal(bytes.TrimPrefix(raw, magic)); err != nil {
		return err
	}
	return obj.Unmarshal(u.Raw)
}
