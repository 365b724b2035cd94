package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Served asks the server's discovery whether it serves the resource. A 404 alone does
// not prove that it does not: proxies send them, too.
func (s *source) Served(ctx context.Context) (bool, error) {
	path := []string{"/apis", s.Resource.Group, s.Resource.Version}
	if s.Resource.Group == "" {
		path = []string{"/api", s.Resource.Version}
	}
	var resources metav1.APIResourceList
	err := s.discover(ctx, &resources, path...)
	switch {
	case err == nil:
		for _, r := range resources.APIResources {
			if r.Name == s.Resource.Resource {
				return true, nil
			}
		}
		return false, nil
	case !apierrors.IsNotFound(err) || s.Resource.Group == "":
		return false, err
	}
	// The last resource of a group takes the group with it.
	var groups metav1.APIGroupList
	if err := s.discover(ctx, &groups, "/apis"); err != nil {
		return false, err
	}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			if g.Name == s.Resource.Group && v.Version == s.Resource.Version {
				return true, nil
			}
		}
	}
	return false, nil
}

// discover reads a document of the server's discovery.
func (s *source) discover(ctx context.Context, into any, path ...string) error {
	raw, err := s.client.Get().AbsPath(path...).SetHeader("Accept", "application/json").MaxRetries(0).DoRaw(ctx)
	if err != nil {
		return err
	}
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	if kind.Kind != "APIResourceList" && kind.Kind != "APIGroupList" {
		return fmt.Errorf("the answer of %v is a %q", path, kind.Kind)
	}
	return json.Unmarshal(raw, into)
}
