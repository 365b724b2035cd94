package chaos

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The annotations by which an object vouches for itself.
const (
	numberAnnotation = "chaos/number"
	padAnnotation    = "chaos/pad"
	sumAnnotation    = "chaos/sum"
	// textAnnotation is the checksum of a large object's text.
	textAnnotation = "chaos/text"
)

func nameOf(gvr schema.GroupVersionResource, i int) string {
	return fmt.Sprintf("%s-%d", strings.TrimSuffix(gvr.Resource, "s"), i)
}

func hotName(i int) string { return fmt.Sprintf("hot-%d", i) }

// content is an object with some random content and its checksum.
func content(rng *rand.Rand, gvr schema.GroupVersionResource, ns, name string) *unstructured.Unstructured {
	number := strconv.FormatUint(rng.Uint64(), 36)
	pad := strings.Repeat(number, rng.IntN(20))
	if rng.IntN(200) == 0 {
		pad = strings.Repeat(number, 2000)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": ns, "name": name,
		"labels": map[string]any{
			"color": []string{"red", "green", "blue"}[rng.IntN(3)],
			"size":  strconv.Itoa(rng.IntN(5)),
		},
		"annotations": map[string]any{
			numberAnnotation: number, padAnnotation: pad, sumAnnotation: checksum(ns, name, number, pad),
		},
	}}}
	switch gvr {
	case pods:
		o.SetAPIVersion("v1")
		o.SetKind("Pod")
		o.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "c", "image": "image"}}}
	case configMaps:
		o.SetAPIVersion("v1")
		o.SetKind("ConfigMap")
		o.Object["data"] = map[string]any{"number": number}
	default:
		o.SetAPIVersion(gizmos.GroupVersion().String())
		o.SetKind("Gizmo")
		o.Object["spec"] = map[string]any{"number": number, "list": []any{"x", number}, "deep": map[string]any{"n": rng.Int64N(1000)}}
	}
	return o
}

// noise is text that does not compress well.
func noise(rng *rand.Rand, size int) string {
	raw := make([]byte, size*3/4)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// enlarge gives a config map or a gizmo a text.
func enlarge(o *unstructured.Unstructured, text string) {
	fields(o)["text"] = text
	a := o.Object["metadata"].(map[string]any)["annotations"].(map[string]any)
	a[textAnnotation] = checksum(text)
}

// fields are those that the number and the text of an object are in.
func fields(o *unstructured.Unstructured) map[string]any {
	for _, name := range []string{"data", "spec"} {
		if f, ok := o.Object[name].(map[string]any); ok {
			return f
		}
	}
	return nil
}

func checksum(parts ...string) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(strings.Join(parts, "\x00")))), 16)
}

var (
	errSum         = errors.New("the checksum of its annotations is wrong")
	errText        = errors.New("the checksum of its text is wrong")
	errNumber      = errors.New("its number is not that of its annotations")
	errTransformed = errors.New("it was edited by somebody else's transform")
	errPlain       = errors.New("it was not transformed, or in part")
)

// verify reports whether an object is the whole of what a writer has written.
func verify(o metav1.Object) error {
	a := o.GetAnnotations()
	if a[transformedKey] != "" || o.GetLabels()[transformedKey] != "" {
		return errTransformed
	}
	if _, ours := a[sumAnnotation]; !ours {
		return nil
	}
	if checksum(o.GetNamespace(), o.GetName(), a[numberAnnotation], a[padAnnotation]) != a[sumAnnotation] {
		return errSum
	}
	number, text, ok := written(o)
	switch {
	case ok && number != a[numberAnnotation]:
		return errNumber
	case ok && a[textAnnotation] != "" && checksum(text) != a[textAnnotation]:
		return errText
	}
	return nil
}

// written returns what of an object's content its annotations vouch for.
func written(o metav1.Object) (number, text string, ok bool) {
	switch o := o.(type) {
	case *corev1.ConfigMap:
		return o.Data["number"], o.Data["text"], true
	case *unstructured.Unstructured:
		f := fields(o)
		number, ok = f["number"].(string)
		text, _ = f["text"].(string)
		return number, text, ok
	}
	return "", "", false
}
