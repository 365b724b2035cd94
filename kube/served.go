package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gone returns nil if the server has proved, from two sources, that the resource is
// defined nowhere any more: discovery, read whole and now, has it in no version of its
// group; and there is no CustomResourceDefinition of that name, by a consistent read. A
// 404 alone does not say so: proxies answer with it, and so does a server that no longer
// serves one version of a resource whose objects live on in another. Where an APIService
// hands the group to another server, that server alone would know, and nothing is proved.
func (s *source) Gone(ctx context.Context) error {
	if s.Resource.Group == "" {
		return errors.New("resources of the core group do not go")
	}
	versions, err := s.groupVersions(ctx)
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	for _, version := range versions {
		served, err := s.isServedAs(ctx, version)
		switch {
		case err != nil:
			return fmt.Errorf("discovery of %s/%s: %w", s.Resource.Group, version, err)
		case served:
			return fmt.Errorf("the server serves %s as %s/%s", s.Resource.Resource, s.Resource.Group, version)
		}
	}
	if err := s.isForwarded(ctx); err != nil {
		return err
	}
	return s.isUndefined(ctx)
}

// groupVersions returns the versions of the resource's group, none if there is no group.
func (s *source) groupVersions(ctx context.Context) (versions []string, err error) {
	var groups metav1.APIGroupList
	if err := s.document(ctx, &groups, "APIGroupList", "/apis"); err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			if g.Name == s.Resource.Group {
				versions = append(versions, v.Version)
			}
		}
	}
	return versions, nil
}

func (s *source) isServedAs(ctx context.Context, version string) (bool, error) {
	var resources metav1.APIResourceList
	if err := s.document(ctx, &resources, "APIResourceList", "/apis", s.Resource.Group, version); err != nil {
		return false, err
	}
	for _, r := range resources.APIResources {
		if r.Name == s.Resource.Resource {
			return true, nil
		}
	}
	return false, nil
}

// isForwarded returns an error if another server may have the resource: an APIService of
// its group and version names one. Servers without an aggregator have no APIServices.
func (s *source) isForwarded(ctx context.Context) error {
	var service struct {
		Spec struct {
			Service *struct{ Name string } `json:"service"`
		} `json:"spec"`
	}
	name := s.Resource.Version + "." + s.Resource.Group
	err := s.document(ctx, &service, "APIService", "/apis/apiregistration.k8s.io/v1/apiservices", name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("APIService %s: %w", name, err)
	case service.Spec.Service != nil:
		return fmt.Errorf("APIService %s names another server, %s", name, service.Spec.Service.Name)
	}
	return nil
}

// isUndefined returns nil if the server says that the resource's
// CustomResourceDefinition does not exist: that one, by its name.
func (s *source) isUndefined(ctx context.Context) error {
	name := s.Resource.Resource + "." + s.Resource.Group
	err := s.document(ctx, new(metav1.PartialObjectMetadata), "CustomResourceDefinition",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", name)
	var said *answerError
	switch {
	case err == nil:
		return fmt.Errorf("CustomResourceDefinition %s exists", name)
	case errors.As(err, &said) && said.Reason == metav1.StatusReasonNotFound && said.Details != nil &&
		said.Details.Name == name && said.Details.Kind == "customresourcedefinitions":
		return nil
	}
	return fmt.Errorf("CustomResourceDefinition %s: %w", name, err)
}

// answerError is an answer with what the server itself says of it.
type answerError struct {
	error
	metav1.Status
}

func (e *answerError) Unwrap() error { return e.error }

// document reads an object of a kind, as the server has it now.
func (s *source) document(ctx context.Context, into any, kind string, path ...string) error {
	raw, err := s.client.Get().AbsPath(path...).SetHeader("Accept", "application/json").MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		said := &answerError{error: err}
		if json.Unmarshal(raw, &said.Status) != nil || said.Kind != "Status" {
			return err
		}
		return said
	}
	var is metav1.TypeMeta
	if err := json.Unmarshal(raw, &is); err != nil {
		return err
	}
	if is.Kind != kind {
		return fmt.Errorf("the answer of %v is a %q", path, is.Kind)
	}
	return json.Unmarshal(raw, into)
}
