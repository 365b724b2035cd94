package apisim

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// continueToken says where the next page of a list begins. It has the form
// that the real server gives it, so that clients which peep see the same.
type continueToken struct {
	API     string `json:"v"`
	Version int64  `json:"rv"` // -1: whatever is there now
	Start   string `json:"start"`
}

const continueAPI = "meta.k8s.io/v1"

func encodeContinue(start string, version int64) string {
	data, _ := json.Marshal(continueToken{API: continueAPI, Version: version, Start: start})
	return base64.RawURLEncoding.EncodeToString(data)
}

func decodeContinue(token string) (continueToken, error) {
	var t continueToken
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return t, fmt.Errorf("continue key is not valid: %w", err)
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("continue key is not valid: %w", err)
	}
	switch {
	case t.API != continueAPI:
		return t, fmt.Errorf("continue key is not valid: unknown version %q", t.API)
	case t.Version == 0:
		return t, errors.New("continue key is not valid: it has no resource version")
	case t.Start == "":
		return t, errors.New("continue key is not valid: it has no start")
	}
	rooted := t.Start
	if !strings.HasPrefix(rooted, "/") {
		rooted = "/" + rooted
	}
	if path.Clean(rooted) != rooted {
		return t, fmt.Errorf("continue key is not valid: %s", t.Start)
	}
	return t, nil
}

// errContinueExpired comes with a token that goes on in the present state.
func errContinueExpired(t continueToken) error {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old: the state it was taken from is " +
		"forgotten. Start a new list without it, or go on with the continue token in this response, which may mix " +
		"objects of different times.")
	err.ErrStatus.ListMeta = metav1.ListMeta{Continue: encodeContinue(t.Start, -1)}
	return err
}

func invalidVersion(version string, err error) error {
	return fmt.Errorf("resourceVersion: Invalid value: %q: %w", version, err)
}
