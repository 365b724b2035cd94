package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func secret(value, note string) map[string]any {
	return map[string]any{
		"kind": "Secret", "apiVersion": "v1",
		"metadata": map[string]any{
			"name": "login", "resourceVersion": "7",
			"annotations": map[string]any{
				"owner":                "team-a",
				"token-secret.value":   note,
				"last-applied":         `{"stringData":{"password":"something-older"}}`,
				"not/even/a/text":      []any{value},
				"base64/of/the/secret": "x" + base64.StdEncoding.EncodeToString([]byte(value)),
			},
		},
		"data": map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(value)), "pin": "MQ=="},
		"type": "Opaque",
	}
}

// TestNoValueLeaves looks for the values in everything that may be shown of a Secret.
func TestNoValueLeaves(t *testing.T) {
	before, after := secret("hunter2", "now: hunter2"), secret("correct-horse", "now: correct-horse")
	untouched := fmt.Sprint(before, after)
	was, is := Secrets(before, after)
	shown := fmt.Sprint(Secret(before), Secret(after), was, is)
	for _, value := range []string{"hunter2", "correct-horse", "something-older", "team-a", base64.StdEncoding.EncodeToString([]byte("hunter2")), "MQ=="} {
		if strings.Contains(shown, value) {
			t.Errorf("%q is shown:\n%s", value, shown)
		}
	}
	if is["data"].(map[string]any)["password"] != HiddenChanged || is["data"].(map[string]any)["pin"] != Hidden {
		t.Errorf("it is not shown what changed: %v", is["data"])
	}
	for _, key := range []string{"password", "pin", "owner", "Opaque"} {
		if !strings.Contains(shown, key) {
			t.Errorf("that there is %s is not shown:\n%s", key, shown)
		}
	}
	if fmt.Sprint(before, after) != untouched {
		t.Error("the Secrets themselves were changed")
	}
}

func TestOddSecrets(t *testing.T) {
	for _, odd := range []map[string]any{
		nil, {}, {"metadata": "x"}, {"data": "hunter2"}, {"data": []any{"hunter2"}}, {"data": map[string]any{"a": []any{"hunter2"}}},
	} {
		was, is := Secrets(odd, odd)
		shown := fmt.Sprint(Secret(odd), was, is)
		if strings.Contains(shown, "hunter2") {
			t.Errorf("%v is shown as %s", odd, shown)
		}
	}
	if was, is := Secrets(nil, secret("hunter2", "")); was != nil || is["data"].(map[string]any)["password"] != Hidden {
		t.Errorf("without a state before: got %v and %v", was, is)
	}
}
