package kinform_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/describe"
)

// secretServer has one Secret, whose password must not be seen.
func secretServer(t *testing.T) *apisim.Server {
	t.Helper()
	s, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login", Labels: map[string]string{"app": "web"}},
		Data:       map[string][]byte{"password": []byte("hunter2")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runs runs an informer until the end of the test.
func runs[T any](t *testing.T, inf *kinform.Informer[T]) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ctx
}

func tellNobody(error) {}

func TestDescribe(t *testing.T) {
	s := secretServer(t)
	inf, err := kinform.New[*corev1.Secret](s.Config(), kinform.Options{
		Namespaces: []string{"shop", "default"}, LabelSelector: "app=web", FieldSelector: "metadata.name!=x",
		PageSize: 7, DropManagedFields: true, FromCache: true, MaxObjectSize: 1 << 20,
		Residency: kinform.ResidencyNever, Silence: time.Minute, Backoff: kinform.Backoff{First: time.Second},
		OnFailure: tellNobody, Policy: kinform.PolicyOptional,
	})
	if err != nil {
		t.Fatal(err)
	}
	before := inf.Describe()
	if before.Status.Started || before.Status.Synced || before.Status.Stopped || before.Store.Objects != 0 {
		t.Errorf("before it runs: %+v, %+v", before.Status, before.Store)
	}
	if _, err := inf.AddIndex("by password", func(s *corev1.Secret) []string { return []string{string(s.Data["password"])} }); err != nil {
		t.Fatal(err)
	}
	every := inf.Subscribe(func(context.Context, kinform.Event[*corev1.Secret]) {}, kinform.SubscribeOptions{Name: "every", Resync: time.Hour})
	inf.Subscribe(func(context.Context, kinform.Event[*corev1.Secret]) {}, kinform.SubscribeOptions{Name: "latest", Latest: true})
	if _, err := kinform.View[*unstructured.Unstructured](inf); err != nil {
		t.Fatal(err)
	}
	ctx := runs(t, inf)
	if err := every.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}

	d := inf.Describe()
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"informer":"kinform.Informer"`, `"objectType":"*v1.Secret"`, `"views":["*unstructured.Unstructured","*v1.Secret"]`,
		`"resource":"secrets.v1"`, `"namespaces":["default","shop"]`, `"labelSelector":"app=web"`, `"fieldSelector":"metadata.name!=x"`,
		`"encoding":"protobuf, else json"`, `"list":"LIST, in pages of 7"`, `"pageSize":7`, `"dropManagedFields":true`,
		`"fromCache":true`, `"maxObjectSize":1048576`, `"silence":"1m0s"`, `"policy":"optional"`, `"backoff":{"first":"1s","most":"30s"}`,
		`"errorHandler":"github.com/kinform/kinform_test.tellNobody"`, `"residency":"never decoded"`,
		`"indexes":["by password"]`, `"objects":1`, `"held":"protobuf"`,
		`"name":"every","resync":"1h0m0s","synced":true,"queue":{"policy":"every change","limit":1024,"waiting":0,"delivered":1`,
		`"name":"latest"`, `"policy":"latest states"`, `"synced":true`, `"resourceVersion":"`,
		`"source":"secrets in namespace default with labels app=web with fields metadata.name!=x"`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in\n%s", want, raw)
		}
	}
	wantText(t, d, "every 1h0m0s", "1m0s", "pages of 7", "by password", "tellNobody", "never decoded", "default, shop")
	wantNothingOf(t, d, "hunter2")
	var again describe.Description
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	if back, _ := json.Marshal(again); string(back) != string(raw) {
		t.Errorf("read back, it is\n%s, was\n%s", back, raw)
	}
}

func wantText(t *testing.T, d describe.Description, words ...string) {
	t.Helper()
	text := d.String()
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// wantNothingOf looks for a secret, plain and encoded, in all that is shown.
func wantNothingOf(t *testing.T, d describe.Description, secret string) {
	t.Helper()
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(raw), d.String()} {
		if strings.Contains(shown, secret) || strings.Contains(shown, base64.StdEncoding.EncodeToString([]byte(secret))) {
			t.Errorf("%q is shown:\n%s", secret, shown)
		}
	}
}

// quoting is a type that config maps do not fit, and whose error quotes them.
type quoting struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              quoted `json:"data"`
}

type quoted struct{}

func (*quoted) UnmarshalJSON(raw []byte) error { return errors.New("unexpected " + string(raw)) }

// TestDescribeDoesNotQuoteObjects: the words of errors may quote what they are
// about, which need not be a Secret to be nobody's business.
func TestDescribeDoesNotQuoteObjects(t *testing.T) {
	s := secretServer(t)
	_, err := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "login"}, Data: map[string]string{"password": "hunter2"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinform.New[*quoting](s.Config(), kinform.Options{Resource: corev1.SchemeGroupVersion.WithResource("configmaps")})
	if err != nil {
		t.Fatal(err)
	}
	if err := inf.WaitSynced(runs(t, inf)); err != nil {
		t.Fatal(err)
	}
	for range inf.Lister().All() {
		t.Error("the object can be read")
	}
	st := inf.Status()
	if st.Rejected == 0 || !strings.Contains(st.LastRejected.Error(), "hunter2") {
		t.Fatalf("the test proves nothing: %v", st.LastRejected)
	}
	d := inf.Describe()
	wantText(t, d, "last default/login, which is no *kinform_test.quoting")
	wantNothingOf(t, d, "hunter2")
}

// TestDescribeGarbled: a server that sends something else is not quoted either.
func TestDescribeGarbled(t *testing.T) {
	s := secretServer(t)
	failed := make(chan error, 100)
	s.Inject(apisim.Fault{
		Match:  apisim.Match{Resource: "secrets", Verb: "list"},
		Status: http.StatusOK, Body: `{"kind":"Status","apiVersion":"v1","message":"hunter2"}`, ContentType: "application/json",
	})
	inf, err := kinform.New[*corev1.Secret](s.Config(), kinform.Options{JSON: true, OnFailure: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, inf)
	if err := <-failed; !strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("the test proves nothing: %v", err)
	}
	d := inf.Describe()
	wantText(t, d, "garbled, 1 times: what was sent cannot be understood")
	wantNothingOf(t, d, "hunter2")
}

func TestDescribeFailure(t *testing.T) {
	s := secretServer(t)
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "secrets"}, Status: http.StatusServiceUnavailable})
	failed := make(chan struct{}, 100)
	inf, err := kinform.New[*corev1.Secret](s.Config(), kinform.Options{OnFailure: func(error) { failed <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, inf)
	<-failed
	d := inf.Describe()
	src := d.Status.Sources[0]
	if src.Reason != string(kinform.ReasonServerError) || src.Attempts != 1 || src.NextTry.IsZero() || !strings.Contains(src.Cause, "list secrets") {
		t.Errorf("got %+v", src)
	}
	wantText(t, d, "server-error, 1 times", "next try", "last contact", "never")
}

func TestDescribeFactory(t *testing.T) {
	s := secretServer(t)
	f, err := kinform.NewFactory(s.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Shutdown()
	if _, err := kinform.For[*corev1.Secret](f, kinform.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kinform.For[*corev1.Pod](f, kinform.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err = kinform.For[*metav1.PartialObjectMetadata](f, kinform.Options{Resource: corev1.SchemeGroupVersion.WithResource("secrets")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range f.Describe() {
		got = append(got, d.Source.Resource+" as "+d.ObjectType)
	}
	if want := []string{"secrets.v1 as *v1.PartialObjectMetadata, *v1.Secret", "pods.v1 as *v1.Pod"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
