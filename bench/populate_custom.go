package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/test/apiserver"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// createdCustom is how many custom resources are created through the server.
// The others have the managedFields of one of them.
const createdCustom = 300

// populateCustom puts n varied custom resources onto the server, and their
// definition.
func populateCustom(ctx context.Context, s *apiserver.Server, n int) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	custom, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	if _, err := custom.Resource(definitions).Create(ctx, objects.CustomResourceDefinition(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the definition of %s: %w", objects.CustomResource.Resource, err)
	}
	p := customPopulator{spaces: spaces{client: client}, ctx: ctx, server: s, client: custom.Resource(objects.CustomResource)}
	if err := p.waitServed(); err != nil {
		return err
	}
	if err := s.PutMany(ctx, p.entries(n)); err != nil {
		return err
	}
	return p.err
}

type customPopulator struct {
	spaces
	ctx     context.Context
	server  *apiserver.Server
	client  dynamic.NamespaceableResourceInterface
	created []*unstructured.Unstructured
	err     error
}

// waitServed waits until the server serves the resource.
func (p *customPopulator) waitServed() error {
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	for {
		_, err := p.client.List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the server does not serve %s: %w", objects.CustomResource, err)
		}
	}
}

// entries yields the etcd entries of the objects that are not created through the
// server.
func (p *customPopulator) entries(n int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := 0
		for obj := range objects.New(objects.Options{Seed: 1}).CustomResources(n) {
			if len(p.created) < createdCustom {
				if p.err = p.create(obj); p.err != nil {
					return
				}
				continue
			}
			template := p.created[i%len(p.created)]
			i++
			obj.SetManagedFields(template.GetManagedFields())
			obj.SetResourceVersion("")
			var value []byte
			if value, p.err = obj.MarshalJSON(); p.err != nil {
				return
			}
			if !yield(p.key(obj), value) {
				return
			}
		}
	}
}

func (p *customPopulator) key(obj metav1.Object) string {
	return fmt.Sprintf("/registry/%s/%s/%s/%s", objects.CustomResource.Group, objects.CustomResource.Resource, obj.GetNamespace(), obj.GetName())
}

// create makes an object and its status through the server, and keeps what etcd
// has of it.
func (p *customPopulator) create(obj *unstructured.Unstructured) error {
	if err := p.ensure(p.ctx, obj.GetNamespace()); err != nil {
		return err
	}
	fresh := obj.DeepCopy()
	fresh.SetResourceVersion("")
	fresh.SetManagedFields(nil)
	client := p.client.Namespace(obj.GetNamespace())
	made, err := client.Create(p.ctx, fresh, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	if err != nil {
		return fmt.Errorf("create %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	made.Object["status"] = fresh.Object["status"]
	if _, err := client.UpdateStatus(p.ctx, made, metav1.UpdateOptions{FieldManager: "database-operator"}); err != nil {
		return fmt.Errorf("update the status of %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	raw, err := p.server.GetRaw(p.ctx, p.key(obj))
	if err != nil {
		return err
	}
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON(raw); err != nil {
		return fmt.Errorf("%s in etcd is not the JSON that is multiplied here: %w", p.key(obj), err)
	}
	p.created = append(p.created, stored)
	return nil
}
