package apisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// definition is what the server reads of a CustomResourceDefinition. Its parts are
// types with names for the sake of errors: see definitionWords.
type definition struct {
	Spec definitionSpec `json:"spec"`
}

type definitionSpec struct {
	Group    string              `json:"group"`
	Names    definitionNames     `json:"names"`
	Scope    string              `json:"scope"`
	Versions []definitionVersion `json:"versions"`
}

type definitionNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	ShortNames []string `json:"shortNames"`
	Categories []string `json:"categories"`
}

type definitionVersion struct {
	Name                     string                 `json:"name"`
	Served                   bool                   `json:"served"`
	Storage                  bool                   `json:"storage"`
	Subresources             definitionSubresources `json:"subresources"`
	SelectableFields         []definitionField      `json:"selectableFields"`
	AdditionalPrinterColumns []printerColumn        `json:"additionalPrinterColumns"`
	Schema                   definitionSchema       `json:"schema"`
}

type definitionSubresources struct {
	Status *definitionStatus `json:"status"`
	Scale  *definitionScale  `json:"scale"`
}

type definitionStatus struct{}

type definitionScale struct {
	SpecReplicasPath   string `json:"specReplicasPath"`
	StatusReplicasPath string `json:"statusReplicasPath"`
	LabelSelectorPath  string `json:"labelSelectorPath"`
}

type definitionField struct {
	JSONPath string `json:"jsonPath"`
}

type definitionSchema struct {
	OpenAPIV3Schema *openAPISchema `json:"openAPIV3Schema"`
}

// definitionWords turns the names of these types into those of the API, which the
// real server's errors have in them.
var definitionWords = strings.NewReplacer(
	"definitionSubresources", "CustomResourceSubresources",
	"definitionStatus", "CustomResourceSubresourceStatus",
	"definitionScale", "CustomResourceSubresourceScale",
	"definitionSchema", "CustomResourceValidation",
	"definitionField", "SelectableField",
	"definition", "CustomResourceDefinition",
	"printerColumn", "CustomResourceColumnDefinition",
	"openAPISchema", "JSONSchemaProps",
	"apisim.", "v1.",
)

// printerColumn is a column of a table of custom resources.
type printerColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int32  `json:"priority"`
	JSONPath    string `json:"jsonPath"`
}

// customVersion is what a version of a custom resource adds to a resource.
type customVersion struct {
	status     bool
	scale      *customScale
	selectable map[string]fieldReader
	columns    []printerColumn
	schema     *openAPISchema // nil: anything goes
}

// customScale has the paths of the scale subresource.
type customScale struct{ replicas, statusReplicas, selector []string }

func (s *customScale) read(obj *unstructured.Unstructured, into *autoscalingv1.Scale) error {
	replicas, _, err := unstructured.NestedInt64(obj.Object, s.replicas...)
	if err != nil {
		return badRequest("%v", err)
	}
	status, _, _ := unstructured.NestedInt64(obj.Object, s.statusReplicas...)
	into.Spec.Replicas, into.Status.Replicas = int32(replicas), int32(status)
	if len(s.selector) > 0 {
		into.Status.Selector, _, _ = unstructured.NestedString(obj.Object, s.selector...)
	}
	return nil
}

// crdResource is the resource of the definitions themselves, kept as JSON.
func crdResource(history int) *resource {
	return &resource{
		gvr:      crdGVR,
		gvk:      crdGVK,
		singular: "customresourcedefinition",
		traits:   "cluster status short:crd short:crds category:api-extensions",
		store:    newCollection(crdGVR.GroupResource(), customCodec{crdGVK}, history),
		custom:   &customVersion{status: true, selectable: map[string]fieldReader{"metadata.name": nameField}},
	}
}

func parseDefinition(data []byte) (*definition, error) {
	var d definition
	err := json.Unmarshal(data, &d)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fmt.Errorf("json: cannot unmarshal %s into Go struct field %s.%s of type %s", wrong.Value,
			definitionWords.Replace(wrong.Struct), wrong.Field, definitionWords.Replace(wrong.Type.String()))
	}
	return &d, err
}

// validateDefinition checks what the server relies on.
func validateDefinition(obj *unstructured.Unstructured) error {
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	d, err := parseDefinition(data)
	if err != nil {
		return badRequest("%s in version %q cannot be handled as a %s: %v", crdGVK.Kind, crdGVK.Version, crdGVK.Kind, err)
	}
	if errs := d.validate(obj.GetName()); len(errs) > 0 {
		return apierrors.NewInvalid(crdGVK.GroupKind(), obj.GetName(), errs)
	}
	return nil
}

// validate finds the errors in the order of the real server.
func (d *definition) validate(name string) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	required := func(path *field.Path, value string) {
		if value == "" {
			errs = append(errs, field.Required(path, ""))
		}
	}
	if want := d.Spec.Names.Plural + "." + d.Spec.Group; name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name, "must be spec.names.plural+\".\"+spec.group"))
	}
	required(spec.Child("group"), d.Spec.Group)
	required(spec.Child("scope"), d.Spec.Scope)
	if d.Spec.Scope != "" && d.Spec.Scope != "Namespaced" && d.Spec.Scope != "Cluster" {
		errs = append(errs, field.NotSupported(spec.Child("scope"), d.Spec.Scope, []string{"Cluster", "Namespaced"}))
	}
	storage := 0
	for i, v := range d.Spec.Versions {
		at := spec.Child("versions").Index(i)
		required(at.Child("name"), v.Name)
		if v.Schema.OpenAPIV3Schema == nil {
			errs = append(errs, field.Required(at.Child("schema", "openAPIV3Schema"), ""))
		}
		if v.Storage {
			storage++
		}
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(spec.Child("versions"), d.Spec.Versions, "must have exactly one version marked as storage version"))
	}
	names := d.Spec.Names
	required(spec.Child("names", "plural"), names.Plural)
	required(spec.Child("names", "singular"), names.Singular+names.Kind) // it has a default
	required(spec.Child("names", "kind"), names.Kind)
	required(spec.Child("names", "listKind"), names.ListKind+names.Kind) // it has a default
	if storage == 0 {
		errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions"), []string(nil), "must have at least one stored version"))
	}
	return errs
}

// validateRedefinition refuses to change what the objects are kept under.
func validateRedefinition(obj, old *unstructured.Unstructured) error {
	var errs field.ErrorList
	for _, path := range [][]string{{"spec", "group"}, {"spec", "scope"}, {"spec", "names", "plural"}, {"spec", "names", "kind"}} {
		is, _, _ := unstructured.NestedString(obj.Object, path...)
		was, _, _ := unstructured.NestedString(old.Object, path...)
		if is != was {
			errs = append(errs, field.Invalid(field.NewPath(path[0], path[1:]...), is, "field is immutable"))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(crdGVK.GroupKind(), obj.GetName(), errs)
	}
	return validateDefinition(obj)
}

// establish writes into a definition the status that says it is served.
func establish(obj *unstructured.Unstructured) {
	names, _, _ := unstructured.NestedMap(obj.Object, "spec", "names")
	if names == nil {
		names = map[string]any{}
	}
	kind, _ := names["kind"].(string)
	if names["singular"] == nil {
		names["singular"] = strings.ToLower(kind)
	}
	if names["listKind"] == nil && kind != "" {
		names["listKind"] = kind + "List"
	}
	_ = unstructured.SetNestedMap(obj.Object, names, "spec", "names")
	stored := []any{}
	versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["storage"] == true {
			stored = append(stored, version["name"])
		}
	}
	if _, ok, _ := unstructured.NestedMap(obj.Object, "spec", "conversion"); !ok {
		_ = unstructured.SetNestedField(obj.Object, "None", "spec", "conversion", "strategy")
	}
	condition := func(kind, reason, message string) any {
		return map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": message,
			"lastTransitionTime": now().UTC().Format("2006-01-02T15:04:05Z"),
		}
	}
	obj.Object["status"] = map[string]any{
		"acceptedNames":  runtime.DeepCopyJSONValue(names),
		"storedVersions": stored,
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
	}
}

// defineLocked begins, changes or ends the service of a custom resource.
func (s *store) defineLocked(before, after *object) {
	var old map[schema.GroupVersionResource]*resource
	if before != nil {
		old = s.customLocked(before)
	}
	if after == nil {
		for _, r := range old {
			s.endLocked(r.store)
		}
		maps.DeleteFunc(s.resources, func(gvr schema.GroupVersionResource, _ *resource) bool { return old[gvr] != nil })
		return
	}
	fresh := s.customLocked(after)
	for gvr := range old {
		if fresh[gvr] == nil {
			delete(s.resources, gvr)
		}
	}
	for gvr, r := range fresh {
		if have := s.resources[gvr]; have != nil && have.custom == nil || gvr == crdGVR {
			continue // a built-in resource is not replaced
		}
		s.resources[gvr] = r
	}
}

// customLocked makes the resources that a definition asks for, with the
// collection that is there already if there is one.
func (s *store) customLocked(o *object) map[schema.GroupVersionResource]*resource {
	d, err := parseDefinition(o.data())
	if err != nil {
		return nil
	}
	out := map[schema.GroupVersionResource]*resource{}
	gr := schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
	c := s.collectionOfLocked(gr)
	if c == nil {
		c = d.newCollection(gr, s.resources[crdGVR].store.log.limit)
		c.log.forget(s.version)
	}
	for _, v := range d.Spec.Versions {
		if v.Served {
			out[gr.WithVersion(v.Name)] = d.resource(gr, v, c)
		}
	}
	return out
}

func (s *store) collectionOfLocked(gr schema.GroupResource) *collection {
	for gvr, r := range s.resources {
		if gvr.GroupResource() == gr {
			return r.store
		}
	}
	return nil
}

func (d *definition) newCollection(gr schema.GroupResource, history int) *collection {
	gvk := schema.GroupVersionKind{Group: gr.Group, Kind: d.Spec.Names.Kind}
	for _, v := range d.Spec.Versions {
		if v.Storage {
			gvk.Version = v.Name
		}
	}
	return newCollection(gr, customCodec{gvk}, history)
}

func (d *definition) resource(gr schema.GroupResource, v definitionVersion, c *collection) *resource {
	var words []string
	for _, name := range d.Spec.Names.ShortNames {
		words = append(words, "short:"+name)
	}
	for _, name := range d.Spec.Names.Categories {
		words = append(words, "category:"+name)
	}
	custom := &customVersion{
		status:     v.Subresources.Status != nil,
		columns:    v.AdditionalPrinterColumns,
		schema:     v.Schema.OpenAPIV3Schema,
		selectable: maps.Clone(metaFields),
	}
	if scale := v.Subresources.Scale; scale != nil {
		custom.scale = &customScale{
			replicas:       jsonPath(scale.SpecReplicasPath),
			statusReplicas: jsonPath(scale.StatusReplicasPath),
			selector:       jsonPath(scale.LabelSelectorPath),
		}
	}
	for _, f := range v.SelectableFields {
		custom.selectable[strings.TrimPrefix(f.JSONPath, ".")] = jsonField(jsonPath(f.JSONPath))
	}
	singular := d.Spec.Names.Singular
	if singular == "" {
		singular = strings.ToLower(d.Spec.Names.Kind)
	}
	return &resource{
		gvr:        gr.WithVersion(v.Name),
		gvk:        schema.GroupVersionKind{Group: gr.Group, Version: v.Name, Kind: d.Spec.Names.Kind},
		listKind:   d.Spec.Names.ListKind,
		singular:   singular,
		namespaced: d.Spec.Scope == "Namespaced",
		traits:     traits(strings.Join(words, " ")),
		store:      c,
		custom:     custom,
	}
}

// jsonPath splits the simple paths that definitions use (".spec.replicas").
func jsonPath(path string) []string {
	if path = strings.Trim(path, "."); path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// jsonField reads a scalar from the JSON of a custom resource.
func jsonField(path []string) fieldReader {
	return func(o *object) string {
		var fields map[string]any
		if json.Unmarshal(o.data(), &fields) != nil {
			return ""
		}
		value, ok, err := unstructured.NestedFieldNoCopy(fields, path...)
		if !ok || err != nil || value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
}

// endLocked deletes all objects of a collection and ends its watches.
func (s *store) endLocked(c *collection) {
	for _, o := range c.under("") {
		if _, err := s.removeLocked(c, o); err != nil {
			break
		}
	}
	c.closeLocked()
}
