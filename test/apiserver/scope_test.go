package apiserver

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/contract"
)

// TestScopeChanges: no event comes twice and none is missed, whatever the scope was and
// becomes.
func TestScopeChanges(t *testing.T) { contract.ScopeChanges(t, start(t, Options{}).Config(), 200) }

// reader is the powerless user, who may list and watch config maps in some namespaces
// while the test lasts.
func reader(t *testing.T, s *Server, namespaces []string) *rest.Config {
	t.Helper()
	rbac := connect(t, s.Config()).RbacV1()
	for _, ns := range namespaces {
		role := &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}},
		}
		if _, err := rbac.Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "powerless"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		}
		if _, err := rbac.RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return s.PowerlessConfig()
}
