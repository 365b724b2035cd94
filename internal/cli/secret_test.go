package cli

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestSecretsAreNeverShown looks for the values of a Secret in everything that
// every format shows of its whole life.
func TestSecretsAreNeverShown(t *testing.T) {
	for _, format := range [][]string{{"-o", "line"}, {"-o", "diff"}, {"-o", "json"}, {"-o", "json", "--full"}} {
		t.Run(strings.Join(format, " "), func(t *testing.T) {
			s := newServer(t)
			secrets := s.client.CoreV1().Secrets("default")
			must(secrets.Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "login", Annotations: map[string]string{
					"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"password":"hunter2"}}`,
				}},
				Data: map[string][]byte{"password": []byte("hunter2"), "user": []byte("bob-the-user")},
			}, metav1.CreateOptions{}))(t)

			p := s.watch(t, "secrets", append(format, "--initial")...)
			patch := func(body string) {
				must(secrets.Patch(t.Context(), "login", types.MergePatchType, []byte(body), metav1.PatchOptions{}))(t)
			}
			encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
			patch(`{"data":{"password":"` + encode("correct-horse") + `"}}`)
			patch(`{"data":{"token":"` + encode("t0ken-value") + `"}}`)
			patch(`{"data":{"user":null}}`)
			patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"correct-horse"}}}`)
			if err := secrets.Delete(t.Context(), "login", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			p.out.AwaitText(t, "deleted")
			p.interrupt(t)

			text := p.out.String() + p.notes.String()
			for _, value := range []string{"hunter2", "bob-the-user", "correct-horse", "t0ken-value"} {
				if strings.Contains(text, value) || strings.Contains(text, encode(value)) {
					t.Errorf("%q was shown:\n%s", value, text)
				}
			}
			for _, key := range []string{"password", "token", "user"} {
				if !strings.Contains(text, key) {
					t.Errorf("that %s changed was not shown:\n%s", key, text)
				}
			}
		})
	}
}

func TestSecretInALine(t *testing.T) {
	s := newServer(t)
	secrets := s.client.CoreV1().Secrets("default")
	must(secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login"}, Data: map[string][]byte{"password": []byte("a"), "user": []byte("b")},
	}, metav1.CreateOptions{}))(t)
	p := s.watch(t, "secrets")
	must(secrets.Patch(t.Context(), "login", types.MergePatchType, []byte(`{"data":{"password":"YQo=","user":null,"x":"YQo="}}`), metav1.PatchOptions{}))(t)
	line := p.out.Await(t, "default/login")
	if want := "data.password: changed (hidden); data.user: - (hidden); data.x: + (hidden)"; !strings.HasSuffix(line, want) {
		t.Errorf("got %q, want it to end with %q", line, want)
	}
}
