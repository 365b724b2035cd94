package apisim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// writeFormat is the negotiation of requests that answer with one object.
func writeFormat(r *request) (format, error) {
	f, err := negotiate(r, r.served, false)
	if err != nil {
		return f, err
	}
	return f, f.checkShape(false)
}

// handleCreate makes a new object of the body.
func (s *Server) handleCreate(w http.ResponseWriter, r *request) error {
	if r.name != "" || !r.served.allows("create") {
		return errNoMethod()
	}
	f, err := writeFormat(r)
	if err != nil {
		return err
	}
	var o metav1.CreateOptions
	if err := queryInto(r, &o); err != nil {
		return err
	}
	if errs := metav1validation.ValidateCreateOptions(&o); len(errs) > 0 {
		return invalidOptions("CreateOptions", errs)
	}
	obj, err := readObject(w, r, o.FieldValidation)
	if err != nil {
		return err
	}
	meta := metaOf(obj)
	if err := matchNamespace(r, meta); err != nil {
		return err
	}
	if meta.GetResourceVersion() != "" {
		return errors.New("resourceVersion should not be set on objects to be created")
	}
	wipeSystemFields(meta)
	created, err := s.createNamed(r.served, obj, updateOptions{dryRun: len(o.DryRun) > 0, manager: managerOf(r)})
	if err != nil {
		return err
	}
	return r.served.writeOne(w, r.http, http.StatusCreated, f, created)
}

// nameAttempts is how often a name is generated before a conflict is returned.
const nameAttempts = 8

// createNamed is create with a name that is generated if the object has none.
func (s *Server) createNamed(res *resource, obj runtime.Object, o updateOptions) (*object, error) {
	meta := metaOf(obj)
	if meta.GetName() != "" || meta.GetGenerateName() == "" {
		return s.create(res, obj, o)
	}
	for range nameAttempts {
		meta.SetName(generateName(meta.GetGenerateName()))
		created, err := s.create(res, obj, o)
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
	}
	return nil, apierrors.NewGenerateNameConflict(res.gr(), meta.GetName(), 1)
}

// create stores a new object in the version of its resource.
func (s *Server) create(res *resource, obj runtime.Object, o updateOptions) (*object, error) {
	hub, err := convert(obj, res.gvk, res.store.codec.kind())
	if err != nil {
		return nil, badRequest("%v", err)
	}
	meta := metaOf(hub)
	meta.SetManagedFields(nil)
	fillSystemFields(meta)
	prepareCreate(res, hub)
	if err := validate(res, hub); err != nil {
		return nil, err
	}
	if err := s.manage(res, nil, hub, o); err != nil {
		return nil, err
	}
	key := res.key(meta.GetNamespace(), meta.GetName())
	created, err := s.store.put(res.store, key, nil, hub, o.dryRun, func() error { return s.store.admitLocked(res, meta) })
	if errors.Is(err, errChanged) {
		return nil, apierrors.NewAlreadyExists(res.gr(), meta.GetName())
	}
	return created, err
}

func generateName(base string) string {
	const maxBase = 63 - 5
	if len(base) > maxBase {
		base = base[:maxBase]
	}
	return base + utilrand.String(5)
}

func wipeSystemFields(meta metav1.Object) {
	meta.SetUID("")
	meta.SetCreationTimestamp(metav1.Time{})
	meta.SetDeletionTimestamp(nil)
	meta.SetDeletionGracePeriodSeconds(nil)
	meta.SetSelfLink("")
}

func fillSystemFields(meta metav1.Object) {
	if meta.GetUID() == "" {
		meta.SetUID(types.UID(uuid.NewString()))
	}
	if creation := meta.GetCreationTimestamp(); creation.IsZero() {
		meta.SetCreationTimestamp(metav1.NewTime(time.Now().UTC().Truncate(time.Second)))
	}
}

// matchNamespace gives the object the namespace of the path, or refuses one
// that differs.
func matchNamespace(r *request, meta metav1.Object) error {
	want := r.namespace
	if !r.served.namespaced {
		want = ""
	}
	switch have := meta.GetNamespace(); {
	case have == want:
	case have == "" || want == "":
		meta.SetNamespace(want)
	default:
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// handleUpdate replaces an object by the body.
func (s *Server) handleUpdate(w http.ResponseWriter, r *request) error {
	if r.name == "" || !r.served.allows("update") {
		return errNoMethod()
	}
	f, err := writeFormat(r)
	if err != nil {
		return err
	}
	var o metav1.UpdateOptions
	if err := queryInto(r, &o); err != nil {
		return err
	}
	if errs := metav1validation.ValidateUpdateOptions(&o); len(errs) > 0 {
		return invalidOptions("UpdateOptions", errs)
	}
	obj, err := readObject(w, r, o.FieldValidation)
	if err != nil {
		return err
	}
	meta := metaOf(obj)
	if err := matchNamespace(r, meta); err != nil {
		return err
	}
	if err := matchName(r.name, meta); err != nil {
		return err
	}
	result, created, err := s.update(r.served, r.key(), r.name, updateOptions{
		subresource: r.subresource,
		dryRun:      len(o.DryRun) > 0,
		manager:     managerOf(r),
		create:      r.served.traits.has("upsert") && r.subresource == "",
	}, func(runtime.Object) (runtime.Object, error) { return obj.DeepCopyObject(), nil })
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return r.served.writeOne(w, r.http, code, f, result)
}

func matchName(want string, meta metav1.Object) error {
	switch meta.GetName() {
	case want:
		return nil
	case "":
		return badRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", want)
	}
	return badRequest("the name of the object (%s) does not match the name on the URL (%s)", meta.GetName(), want)
}

type updateOptions struct {
	subresource string
	dryRun      bool
	manager     string // who writes
	create      bool   // if the object is not there
	patch       bool   // an unset resource version means "of the object that was patched"
}

// update replaces an object by what change makes of it, both in the version
// of the resource. change is called again if somebody else was faster; it
// gets nil if the object is not there and may be created.
func (s *Server) update(res *resource, key, name string, o updateOptions, change func(old runtime.Object) (runtime.Object, error)) (*object, bool, error) {
	for {
		before := s.store.get(res.store, key)
		if before == nil {
			if !o.create {
				return nil, false, apierrors.NewNotFound(res.gr(), name)
			}
			return s.createOnUpdate(res, o, change)
		}
		old, err := res.decode(before)
		if err != nil {
			return nil, false, err
		}
		changed, err := change(old)
		if err != nil {
			return nil, false, err
		}
		if err := checkPreconditions(res, old, changed, o); err != nil {
			return nil, false, err
		}
		after, err := s.replace(res, before, changed, o)
		if !errors.Is(err, errChanged) {
			return after, false, err
		}
	}
}

func (s *Server) createOnUpdate(res *resource, o updateOptions, change func(runtime.Object) (runtime.Object, error)) (*object, bool, error) {
	obj, err := change(nil)
	if err != nil {
		return nil, false, err
	}
	meta := metaOf(obj)
	if meta.GetUID() != "" || meta.GetResourceVersion() != "" && meta.GetResourceVersion() != "0" {
		return nil, false, apierrors.NewNotFound(res.gr(), meta.GetName())
	}
	wipeSystemFields(meta)
	created, err := s.create(res, obj, o)
	return created, true, err
}

// checkPreconditions compares the uid and resource version that the client
// believes in with those of the object.
func checkPreconditions(res *resource, old, changed runtime.Object, o updateOptions) error {
	have, want := metaOf(old), metaOf(changed)
	if uid := want.GetUID(); uid != "" && uid != have.GetUID() {
		return apierrors.NewConflict(res.gr(), have.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, have.GetUID()))
	}
	version := want.GetResourceVersion()
	if version == "0" {
		version = ""
	}
	if version == "" {
		if res.locked() && !o.patch && o.subresource == "" {
			return errVersionRequired(res, have.GetName())
		}
		return nil
	}
	if _, err := parseVersion(version); err != nil {
		return fmt.Errorf("the resource version %q of the object is no number: %w", version, err)
	}
	if version != have.GetResourceVersion() {
		return apierrors.NewConflict(res.gr(), have.GetName(), errors.New(optimisticLock))
	}
	return nil
}

const optimisticLock = "the object has been modified; please apply your changes to the latest version and try again"

// replace stores the changed object (in the version of the resource) in the
// place of before. An object without a difference stays as it is.
func (s *Server) replace(res *resource, before *object, changed runtime.Object, o updateOptions) (*object, error) {
	codec := res.store.codec
	old, err := codec.decode(before.data())
	if err != nil {
		return nil, err
	}
	hub, err := convert(changed, res.gvk, codec.kind())
	if err != nil {
		return nil, badRequest("%v", err)
	}
	prepareUpdate(res, hub, old, o.subresource)
	if err := s.manage(res, old, hub, o); err != nil {
		return nil, err
	}
	setVersion(hub, before.version)
	if err := validateUpdate(res, hub, old); err != nil {
		return nil, err
	}
	same, err := codec.encode(hub)
	if err != nil {
		return nil, err
	}
	if string(same) == string(before.data()) {
		return before, nil
	}
	meta := metaOf(hub)
	if !o.dryRun && meta.GetDeletionTimestamp() != nil && len(meta.GetFinalizers()) == 0 {
		// It only waited for its finalizers. Watchers see the last state that
		// was stored, the client the one it wrote.
		if _, err := s.store.remove(res.store, before); err != nil {
			return nil, err
		}
		return &object{key: before.key, version: before.version, blob: plain(same)}, nil
	}
	return s.store.put(res.store, before.key, before, hub, o.dryRun, nil)
}

// allows reports whether the resource has a verb.
func (r *resource) allows(verb string) bool {
	return strings.Contains(" "+strings.Join(r.traits.verbs(), " ")+" ", " "+verb+" ")
}

func (r *resource) locked() bool { return r.custom != nil || r.traits.has("locked") }
