package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kinform/kinform/internal/objects"
)

// Database is the Go type of the custom resource of package objects.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status,omitempty"`
}

// DatabaseList is a list of databases.
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Database `json:"items"`
}

// DatabaseSpec says what is needed.
type DatabaseSpec struct {
	Engine struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Image   string `json:"image"`
	} `json:"engine"`
	Replicas int64 `json:"replicas"`
	Storage  struct {
		Size      string `json:"size"`
		ClassName string `json:"className"`
		Encrypted bool   `json:"encrypted"`
	} `json:"storage"`
	Resources struct {
		Requests map[string]string `json:"requests"`
		Limits   map[string]string `json:"limits"`
	} `json:"resources"`
	Backup struct {
		Schedule      string `json:"schedule"`
		RetentionDays int64  `json:"retentionDays"`
		Target        struct {
			Bucket      string `json:"bucket"`
			Prefix      string `json:"prefix"`
			Credentials struct {
				SecretName string `json:"secretName"`
			} `json:"credentials"`
		} `json:"target"`
	} `json:"backup"`
	Parameters  map[string]string `json:"parameters"`
	Users       []DatabaseUser    `json:"users"`
	Maintenance struct {
		Window struct {
			Day      string `json:"day"`
			Start    string `json:"start"`
			Duration string `json:"duration"`
		} `json:"window"`
	} `json:"maintenance"`
}

// DatabaseUser is somebody who may log in.
type DatabaseUser struct {
	Name       string `json:"name"`
	PasswordIn struct {
		SecretName string `json:"secretName"`
		Key        string `json:"key"`
	} `json:"passwordIn"`
	Databases []string `json:"databases"`
}

// DatabaseStatus says what is.
type DatabaseStatus struct {
	Phase      string             `json:"phase"`
	Members    []DatabaseMember   `json:"members"`
	Conditions []metav1.Condition `json:"conditions"`
	Endpoints  struct {
		Write string `json:"write"`
		Read  string `json:"read"`
	} `json:"endpoints"`
	LastBackup struct {
		ID    string      `json:"id"`
		Time  metav1.Time `json:"time"`
		Bytes int64       `json:"bytes"`
	} `json:"lastBackup"`
}

// DatabaseMember is one pod of a database.
type DatabaseMember struct {
	Pod      string `json:"pod"`
	Role     string `json:"role"`
	LagBytes int64  `json:"lagBytes"`
	Address  string `json:"address"`
	Timeline int64  `json:"timeline"`
}

// DeepCopyObject makes Database a runtime.Object. No informer calls it for each
// object, so it need not be fast.
func (d *Database) DeepCopyObject() runtime.Object { return copyOf(d) }

// DeepCopyObject makes DatabaseList a runtime.Object.
func (l *DatabaseList) DeepCopyObject() runtime.Object { return copyOf(l) }

func copyOf[T any](from *T) *T {
	raw, err := json.Marshal(from)
	to := new(T)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		panic(err) // the types here are all made for JSON
	}
	return to
}

// customScheme is the scheme of a generated clientset, and its codecs.
func customScheme() (*runtime.Scheme, serializer.CodecFactory) {
	s := runtime.NewScheme()
	gv := objects.CustomResource.GroupVersion()
	s.AddKnownTypes(gv, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(s, gv)
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s, serializer.NewCodecFactory(s)
}
