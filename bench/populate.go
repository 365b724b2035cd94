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

// populate puts n varied pods onto the server. The first pod of each workload is
// created through kube-apiserver, so that defaults and managedFields are the
// server's own; its siblings are made from what was stored, and written to etcd.
func populate(ctx context.Context, s *apiserver.Server, n int) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	p := populator{ctx: ctx, server: s, client: client, templates: map[string]*corev1.Pod{}, spaces: map[string]bool{}}
	if err := s.PutMany(ctx, p.pods(n)); err != nil {
		return err
	}
	return p.err
}

type populator struct {
	ctx       context.Context
	server    *apiserver.Server
	client    kubernetes.Interface
	templates map[string]*corev1.Pod // by owner
	spaces    map[string]bool
	err       error
}

// pods yields the etcd entries of the pods that are made from templates.
func (p *populator) pods(n int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for pod := range objects.New(objects.Options{Seed: 1}).Pods(n) {
			owner := string(metav1.GetControllerOf(pod).UID)
			template := p.templates[owner]
			if template == nil {
				if template, p.err = p.create(pod); p.err != nil {
					return
				}
				p.templates[owner] = template
				continue
			}
			value, err := encode(sibling(template, pod))
			if err != nil {
				p.err = err
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
func (p *populator) create(pod *corev1.Pod) (*corev1.Pod, error) {
	if !p.spaces[pod.Namespace] {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace}}
		_, err := p.client.CoreV1().Namespaces().Create(p.ctx, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		p.spaces[pod.Namespace] = true
	}
	fresh := pod.DeepCopy()
	fresh.ResourceVersion, fresh.ManagedFields = "", nil
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

var magic = []byte("k8s\x00")

func encode(pod *corev1.Pod) ([]byte, error) {
	raw, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}
	body, err := u.Marshal()
	return append(bytes.Clone(magic), body...), err
}

func decode(raw []byte) (*corev1.Pod, error) {
	var u runtime.Unknown
	if err := u.Unmarshal(bytes.TrimPrefix(raw, magic)); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, pod.Unmarshal(u.Raw)
}
