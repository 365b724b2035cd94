package apisim

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// openAPISchema is the schema of a custom resource: the parts that say which
// fields there are, of which type, and with which default. Rules in CEL and
// combinations (anyOf, not, …) are not looked at.
type openAPISchema struct {
	Type                 string                    `json:"type"`
	Properties           map[string]*openAPISchema `json:"properties"`
	AdditionalProperties *openAPIRest              `json:"additionalProperties"`
	Items                *openAPISchema            `json:"items"`
	Required             []string                  `json:"required"`
	Enum                 []any                     `json:"enum"`
	Minimum              *float64                  `json:"minimum"`
	Maximum              *float64                  `json:"maximum"`
	MinLength            *int                      `json:"minLength"`
	MaxLength            *int                      `json:"maxLength"`
	MinItems             *int                      `json:"minItems"`
	MaxItems             *int                      `json:"maxItems"`
	Pattern              string                    `json:"pattern"`
	Default              any                       `json:"default"`
	Nullable             bool                      `json:"nullable"`
	PreserveUnknown      bool                      `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString          bool                      `json:"x-kubernetes-int-or-string"`
	Embedded             bool                      `json:"x-kubernetes-embedded-resource"`
}

// openAPIRest is additionalProperties: a schema, or whether there may be any.
type openAPIRest struct {
	Allowed bool
	Schema  *openAPISchema
}

func (r *openAPIRest) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &r.Allowed) == nil {
		return nil
	}
	r.Allowed = true
	return json.Unmarshal(data, &r.Schema)
}

// of returns the schema of a property, and whether there may be one at all.
func (s *openAPISchema) of(name string) (*openAPISchema, bool) {
	if p, ok := s.Properties[name]; ok {
		return p, true
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Allowed {
		return s.AdditionalProperties.Schema, true
	}
	return nil, s.PreserveUnknown
}

// resourceFields belong to every object, whatever its schema says.
var resourceFields = []string{"apiVersion", "kind", "metadata"}

// prune removes the fields that the schema does not know, and returns their
// paths.
func (s *openAPISchema) prune(value any, path string, isResource bool) []string {
	var pruned []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if isResource && slices.Contains(resourceFields, name) {
				continue
			}
			property, known := s.of(name)
			if !known {
				pruned = append(pruned, path+name)
				delete(value, name)
			} else if property != nil {
				pruned = append(pruned, property.prune(value[name], path+name+".", property.Embedded)...)
			}
		}
	case []any:
		if s.Items == nil {
			break
		}
		for i, item := range value {
			at := fmt.Sprintf("%s[%d].", strings.TrimSuffix(path, "."), i)
			pruned = append(pruned, s.Items.prune(item, at, s.Items.Embedded)...)
		}
	}
	return pruned
}

// fill sets defaults.
func (s *openAPISchema) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if property.Default == nil {
				continue
			}
			if have, ok := value[name]; !ok || have == nil && !property.Nullable {
				value[name] = runtime.DeepCopyJSONValue(property.Default)
			}
		}
		for name, have := range value {
			if property, _ := s.of(name); property != nil {
				property.fill(have)
			}
		}
	case []any:
		if s.Items != nil {
			for _, item := range value {
				s.Items.fill(item)
			}
		}
	}
}

// validate checks types and limits.
func (s *openAPISchema) validate(value any, path *field.Path, isResource bool) field.ErrorList {
	if value == nil && (s.Nullable || s.Type == "") {
		return nil
	}
	if err := s.checkType(value, path); err != nil {
		return field.ErrorList{err}
	}
	var errs field.ErrorList
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(allowed any) bool { return fmt.Sprint(allowed) == fmt.Sprint(value) }) {
		errs = append(errs, field.NotSupported(path, value, textOf(s.Enum)))
	}
	switch value := value.(type) {
	case map[string]any:
		errs = append(errs, s.validateObject(value, path, isResource)...)
	case []any:
		errs = append(errs, s.validateList(value, path)...)
	case string:
		errs = append(errs, s.validateText(value, path)...)
	case int64:
		errs = append(errs, s.validateNumber(float64(value), path)...)
	case float64:
		errs = append(errs, s.validateNumber(value, path)...)
	}
	return errs
}

func textOf(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func (s *openAPISchema) checkType(value any, path *field.Path) *field.Error {
	have := typeName(value)
	if s.IntOrString {
		if have == "integer" || have == "string" {
			return nil
		}
		return field.TypeInvalid(path, have, "must be of type integer or string")
	}
	switch {
	case s.Type == "", s.Type == have, s.Type == "number" && have == "integer":
		return nil
	case s.Type == "integer" && have == "number" && value.(float64) == math.Trunc(value.(float64)):
		return nil
	}
	return field.TypeInvalid(path, have, "must be of type "+s.Type)
}

// typeName is the name of a JSON value's type in a schema.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	}
	return "number"
}

func (s *openAPISchema) validateObject(value map[string]any, path *field.Path, isResource bool) field.ErrorList {
	var errs field.ErrorList
	for _, name := range s.Required {
		if _, ok := value[name]; !ok {
			errs = append(errs, field.Required(path.Child(name), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if isResource && slices.Contains(resourceFields, name) {
			continue
		}
		if property, _ := s.of(name); property != nil {
			errs = append(errs, property.validate(value[name], path.Child(name), property.Embedded)...)
		}
	}
	return errs
}

func (s *openAPISchema) validateList(value []any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.MinItems != nil && len(value) < *s.MinItems {
		errs = append(errs, field.Invalid(path, len(value), fmt.Sprintf("should have at least %d items", *s.MinItems)))
	}
	if s.MaxItems != nil && len(value) > *s.MaxItems {
		errs = append(errs, field.TooMany(path, len(value), *s.MaxItems))
	}
	if s.Items != nil {
		for i, item := range value {
			errs = append(errs, s.Items.validate(item, path.Index(i), s.Items.Embedded)...)
		}
	}
	return errs
}

func (s *openAPISchema) validateText(value string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	length := utf8.RuneCountInString(value)
	if s.MinLength != nil && length < *s.MinLength {
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("should be at least %d chars long", *s.MinLength)))
	}
	if s.MaxLength != nil && length > *s.MaxLength {
		errs = append(errs, field.TooLong(path, value, *s.MaxLength))
	}
	if s.Pattern != "" {
		if pattern, err := regexp.Compile(s.Pattern); err == nil && !pattern.MatchString(value) {
			errs = append(errs, field.Invalid(path, value, "should match '"+s.Pattern+"'"))
		}
	}
	return errs
}

func (s *openAPISchema) validateNumber(value float64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Minimum != nil && value < *s.Minimum {
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("should be greater than or equal to %v", *s.Minimum)))
	}
	if s.Maximum != nil && value > *s.Maximum {
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("should be less than or equal to %v", *s.Maximum)))
	}
	return errs
}
