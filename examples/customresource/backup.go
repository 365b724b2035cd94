package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Backup is a custom resource as the program sees it: a struct with JSON tags.
// No code is generated: no deep copies, no clientset, no scheme. Fields that are
// not here are left alone.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   BackupSpec   `json:"spec"`
	Status BackupStatus `json:"status"`
}

// BackupSpec says what is backed up, and when.
type BackupSpec struct {
	Database string `json:"database"`
	Schedule string `json:"schedule"`
	Keep     int    `json:"keep"`
}

// BackupStatus says how it goes.
type BackupStatus struct {
	LastSuccess *metav1.Time `json:"lastSuccess"`
}

// Where the server keeps backups, and the definitions of custom resources.
var (
	backups     = schema.GroupVersionResource{Group: "example.kinform.dev", Version: "v1", Resource: "backups"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)
