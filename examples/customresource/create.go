package main

import (
	"context"
	_ "embed"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform"
)

//go:embed crd.yaml
var crd []byte

// createAll defines the resource, waits until the server serves it, and makes
// some objects. What exists is left alone.
func createAll(ctx context.Context, cfg *rest.Config) error {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(crd, &definition.Object); err != nil {
		return fmt.Errorf("crd.yaml: %w", err)
	}
	if err := create(ctx, client.Resource(definitions), definition); err != nil {
		return err
	}
	if err := waitEstablished(ctx, cfg, definition.GetName()); err != nil {
		return err
	}
	for _, b := range []BackupSpec{
		{Database: "orders", Schedule: "0 2 * * *", Keep: 7},
		{Database: "orders", Schedule: "0 3 1 * *", Keep: 12},
		{Database: "users", Schedule: "*/15 * * * *", Keep: 96},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"database": b.Database, "schedule": b.Schedule, "keep": int64(b.Keep)},
		}}
		obj.SetAPIVersion(backups.GroupVersion().String())
		obj.SetKind("Backup")
		obj.SetName(fmt.Sprintf("%s-%d", b.Database, b.Keep))
		if err := create(ctx, client.Resource(backups).Namespace("default"), obj); err != nil {
			return err
		}
	}
	return nil
}

func create(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured) error {
	_, err := client.Create(ctx, obj, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// waitEstablished waits until a definition is in force: an informer of that one
// object, in a view without a type, shows when it is.
func waitEstablished(ctx context.Context, cfg *rest.Config, name string) error {
	inf, err := kinform.New[*unstructured.Unstructured](cfg, kinform.Options{
		Resource: definitions, FieldSelector: "metadata.name=" + name,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	running, established := context.WithCancel(ctx)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) {
		definition, err := ev.New()
		if err == nil && ev.Type != kinform.EventDeleted && hasCondition(definition, "Established") {
			established()
		}
	}, kinform.SubscribeOptions{})
	if err := inf.Run(running); err != nil { // until it is established, or the time is up
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("wait for %s to be served: %w", name, context.Cause(ctx))
	}
	return nil
}

func hasCondition(obj *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == name && m["status"] == "True" {
			return true
		}
	}
	return false
}
