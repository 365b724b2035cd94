package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// Site is a page of text that is published under a host.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitempty"`
}

// SiteSpec says what is published, and where.
type SiteSpec struct {
	Host string `json:"host"`
	Text string `json:"text"`
}

// SiteStatus says whether it is.
type SiteStatus struct {
	State string `json:"state,omitempty"`
}

// The states of a site.
const (
	published = "published"
	taken     = "host is taken" // by another site
)

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Site `json:"items"`
}

// DeepCopyObject copies a site. Generators write such methods.
func (s *Site) DeepCopyObject() runtime.Object {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &c
}

// DeepCopyObject copies a list of sites.
func (l *SiteList) DeepCopyObject() runtime.Object {
	c := *l
	c.ListMeta = *l.ListMeta.DeepCopy()
	c.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Site)
	}
	return &c
}

// sites adds the types to a scheme.
var sites = (&scheme.Builder{GroupVersion: schema.GroupVersion{Group: "example.kinform.dev", Version: "v1"}}).
	Register(&Site{}, &SiteList{})
