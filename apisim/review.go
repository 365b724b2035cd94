package apisim

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// review is a resource that is only created, to get an answer in its status.
// Everybody is the same user, who may do everything.
type review struct {
	metav1.APIResource
	answer func(runtime.Object)
}

var reviews = map[schema.GroupVersion][]review{
	{Group: "authorization.k8s.io", Version: "v1"}: {
		newReview("selfsubjectaccessreviews", "SelfSubjectAccessReview", false, func(obj runtime.Object) {
			obj.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = true
		}),
		newReview("subjectaccessreviews", "SubjectAccessReview", false, func(obj runtime.Object) {
			obj.(*authorizationv1.SubjectAccessReview).Status.Allowed = true
		}),
		newReview("localsubjectaccessreviews", "LocalSubjectAccessReview", true, func(obj runtime.Object) {
			obj.(*authorizationv1.LocalSubjectAccessReview).Status.Allowed = true
		}),
		newReview("selfsubjectrulesreviews", "SelfSubjectRulesReview", false, func(obj runtime.Object) {
			obj.(*authorizationv1.SelfSubjectRulesReview).Status = authorizationv1.SubjectRulesReviewStatus{
				ResourceRules:    []authorizationv1.ResourceRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}},
				NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
			}
		}),
	},
	{Group: "authentication.k8s.io", Version: "v1"}: {
		newReview("tokenreviews", "TokenReview", false, func(obj runtime.Object) {
			obj.(*authenticationv1.TokenReview).Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: everybody}
		}),
		newReview("selfsubjectreviews", "SelfSubjectReview", false, func(obj runtime.Object) {
			obj.(*authenticationv1.SelfSubjectReview).Status.UserInfo = everybody
		}),
	},
}

var everybody = authenticationv1.UserInfo{Username: "apisim", Groups: []string{"system:masters", "system:authenticated"}}

func newReview(plural, kind string, namespaced bool, answer func(runtime.Object)) review {
	return review{
		APIResource: metav1.APIResource{
			Name: plural, SingularName: plural[:len(plural)-1], Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"create"},
		},
		answer: answer,
	}
}

// serveReview answers if the request is for a review; else it returns false.
func (s *Server) serveReview(w http.ResponseWriter, r *request) (bool, error) {
	for _, review := range reviews[r.gvr().GroupVersion()] {
		if review.Name != r.resource {
			continue
		}
		if r.verb != "create" || r.name != "" {
			return true, errNoMethod()
		}
		gvk := r.gvr().GroupVersion().WithKind(review.Kind)
		r.served = &resource{gvr: r.gvr(), gvk: gvk, namespaced: review.Namespaced,
			store: newCollection(r.gvr().GroupResource(), typedCodec{gvk}, 1)}
		f, err := writeFormat(r)
		if err != nil {
			return true, err
		}
		obj, err := readObject(w, r, metav1.FieldValidationIgnore)
		if err != nil {
			return true, err
		}
		review.answer(obj)
		data, err := r.served.wholeObject(f, obj)
		if err != nil {
			return true, err
		}
		writeObject(w, r.http, http.StatusCreated, f.media, data)
		return true, nil
	}
	return false, nil
}
