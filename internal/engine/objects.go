package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/wire"
)

// Sources of objects hand over what somebody else has decoded. An Encoder has their
// objects held as bytes, packed as all others are:
//
//  1. A list, or an event, becomes a record of its object (transformed), as the
//     transform left it (fromObject). A list of which each object is in the store, in
//     the version that it has there, is compared with that (unchanged).
//  2. Once a list has shown that the versions are a server's (weigh), each new record
//     is given the bytes that the encoder makes of its object (hold). Fakes, and
//     objects whose bytes do not give back an equal object, are held as they came.
//  3. The record has the object that came as a decoding of the encoder's view, so that
//     index functions need not decode it. When it is in the store, residency takes that
//     of an event in, as one that was just decoded for delivery (admitArrived), and
//     evicts it as it evicts others. Those of a list it does not get: they are parts of
//     one array, and each keeps the memory of all.
//  4. A Delta holds on to the object until it was delivered, or merged into another
//     one: handlers get the very object that came, however slow they are. What that
//     weighs counts as part of what waits in the queue.
//
// From then on a record is like any other, but for one thing: events of one version are
// never taken for repeated ones (sameState), as fakes may look like servers.

// Encoder makes bytes of objects. It knows their types, which the engine does not. One
// goroutine calls it at a time.
type Encoder interface {
	// Encode appends the bytes of an object to dst, in a format of its choice. It
	// returns false if the view of ReflectorOptions does not make an equal object of
	// them; the object is held as it came then. It must not change the object, nor may
	// the bytes be part of it.
	Encode(dst []byte, obj any) (raw []byte, f wire.Format, ok bool)
	// EncodeAs appends the bytes of an object in a format, whether or not they give
	// it back. Equal objects mostly have equal bytes.
	EncodeAs(dst []byte, obj any, f wire.Format) (raw []byte, ok bool)
}

// NewRecord returns the record of an object that did not come from a source. It
// need not have a name.
func (c *Collection) NewRecord(obj any) (*Record, error) {
	in := ingester{collection: c, nameless: true}
	return in.fromObject(obj)
}

// transformed makes a record of what the transform makes of an object, under the
// name that the object came with.
func (in *ingester) transformed(obj any, young bool) (*Record, error) {
	in.objects, in.nameless = true, true
	r, err := in.fromStrangers(obj)
	if err != nil {
		return nil, &stranger{err}
	}
	// Before the transform, which need not keep it. Of a list, weigh decides whether it
	// counts.
	if o, _ := meta.Accessor(obj); o != nil && (in.trusted || !young) {
		r.number = serverVersion(o)
	}
	if in.transform == nil {
		return r, nil
	}
	if obj, err = in.transformContained(obj); err == nil && obj == nil {
		err = errors.New("it gave nothing")
	}
	if err != nil {
		return nil, &rejection{r.key, in.version, in.held, fmt.Errorf("transform: %w", err)}
	}
	r.born(obj)
	return r, nil
}

// fromStrangers is fromObject for what may be anything.
func (in *ingester) fromStrangers(obj any) (r *Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the metadata of %T cannot be read: panic: %v", obj, p)
		}
	}()
	if in.accept != nil {
		if err := in.accept(obj); err != nil {
			return nil, err
		}
	}
	return in.fromObject(obj)
}

func (in *ingester) transformContained(obj any) (_ any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return in.transform(obj)
}

// fromObject makes a record of an object. Its version does not count yet: fakes and a
// program's own functions give versions that need not be numbers or grow, and those are
// never compared.
func (in *ingester) fromObject(obj any) (*Record, error) {
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("there is no object: %T is nil", obj)
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("%T is no API object: %w", obj, err)
	}
	if o.GetName() == "" && !in.nameless {
		return nil, errNoName
	}
	if len(o.GetNamespace()) > maxNamespace {
		return nil, errLongNamespace
	}
	in.meta.Namespace = append(in.meta.Namespace[:0:0], o.GetNamespace()...)
	in.meta.Name = append(in.meta.Name[:0:0], o.GetName()...)
	in.meta.UID = append(in.meta.UID[:0:0], o.GetUID()...)
	in.meta.Labels = in.meta.Labels[:0:0]
	for k, v := range o.GetLabels() {
		in.meta.Labels = append(in.meta.Labels, wire.Label{Key: []byte(k), Value: []byte(v)})
	}
	r := &Record{
		nsLen: uint16(len(in.meta.Namespace)),
		marks: object | mark(deleting, o.GetDeletionTimestamp() != nil),
	}
	in.version = in.read(o)
	r.born(obj)
	in.identify(r, in.lookup(in.meta.Namespace, in.meta.Name))
	return r, nil
}

// serverVersion returns the version of an object, or 0 if no server has made it. What a
// server has made has a number for its version, a UUID, and the time at which it was
// made; what tests make for fakes mostly does not.
func serverVersion(o metav1.Object) uint64 {
	id, odd := uidOf([]byte(o.GetUID()))
	if odd || id == (uid{}) || o.GetCreationTimestamp().Time.IsZero() {
		return 0
	}
	return parseNumber(o.GetResourceVersion())
}

// weigh decides whether the versions of a source of objects are a server's: the list
// has a number for a version, and each of its items has one that is not higher. It
// returns the version of the list as it is to be compared from then on. The records
// of the list that are not in the store yet keep their versions if so, and get bytes
// where their objects survive that.
func (in *ingester) weigh(ctx context.Context, records []*Record, listed Version) Version {
	if !in.objects {
		return listed
	}
	number := parseNumber(listed.String())
	in.trusted = number != 0 && !in.unordered
	for _, r := range records {
		if v := r.claimed(); v == 0 || v > number {
			in.trusted = false
			break
		}
	}
	if in.trusted {
		in.holdListed(ctx, records)
		return Version{number: number}
	}
	for _, r := range records {
		if !in.isStored(r) {
			r.number = 0
		}
	}
	return listed
}

func (in *ingester) isStored(r *Record) bool { return in.collection.Get(r.key) == r }

const (
	// collectAfter is after how many objects of a list it is known what they weigh, and
	// collectWeight what the rest has to weigh for a collection before it.
	collectAfter  = 64
	collectWeight = 32 << 20
)

// collect is runtime.GC, except in tests.
var collect = goruntime.GC

// holdListed gives the records of a trusted list their bytes. Proving
// that an object survives leaves as much garbage as the object weighs. So for a long
// list the collector is asked to run first: what the client has left behind goes, and
// makes room.
func (in *ingester) holdListed(ctx context.Context, records []*Record) {
	var asObjects []*Record
	packed, weight := int64(0), int64(0)
	for i, r := range records {
		if ctx.Err() != nil {
			return // whoever stops does not wait for what is not going to be read
		}
		if in.isStored(r) {
			continue
		}
		if !in.hold(r, false) {
			asObjects = append(asObjects, r)
			continue
		}
		packed++
		weight += r.decodedWeight()
		if packed == collectAfter && weight/packed*int64(len(records)-i) > collectWeight {
			collect()
		}
	}
	if packed > 0 {
		in.detach(asObjects)
	}
}

// claimed is the version that a record has if its source is trusted. Of one that is in
// the store since the source was not, it is no longer known what came.
func (r *Record) claimed() uint64 {
	if r.number != 0 || !r.bytes.None() {
		return r.number
	}
	o, err := meta.Accessor(r.Object())
	if err != nil {
		return 0
	}
	return serverVersion(o)
}

// hold gives a record that came as an object its bytes, if it has a server's version
// and the object survives that. It reports whether it did.
func (in *ingester) hold(r *Record, young bool) bool {
	if in.encoder == nil || r.number == 0 || !r.bytes.None() {
		return false
	}
	obj := r.Object()
	raw, format, ok := in.encode(obj)
	if !ok || in.meta.Scan(format, raw) != nil {
		return false
	}
	r.bytes.Format = format
	r.setSum(sumOf(format, raw))
	if young {
		in.holdYoung(r, raw)
	} else {
		in.packer.Pack(&r.bytes, in.likeness(), raw)
	}
	r.decodings.Store(&decoding{view: in.view, obj: obj, arrived: true})
	return true
}

// detach gives records of a list that are held as objects structs of their own, with
// the parts that came. The structs of a list are mostly one array, of which none goes as
// long as one is held: those few would keep the memory of all. Deltas have the objects
// that came.
func (in *ingester) detach(records []*Record) {
	for _, r := range records {
		obj := r.Object()
		v := reflect.ValueOf(obj)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			continue
		}
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		r.decodings.Store(&decoding{obj: own.Interface(), next: &decoding{view: in.view, obj: obj, arrived: true}})
	}
}

// sameObjects compares what two objects mean. For types with fields that are not
// exported nobody can say, and they have to be equal.
func sameObjects(a, b any) (same bool) {
	defer func() {
		if recover() != nil {
			same = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}

// encode returns the bytes of an object, in scratch memory.
func (in *ingester) encode(obj any) (raw []byte, f wire.Format, ok bool) {
	raw, f, ok = in.encoder.Encode(in.scratch[:0], obj)
	in.keepScratch(raw)
	return raw, f, ok
}

// keepScratch keeps scratch memory that has grown, unless it is large.
func (in *ingester) keepScratch(raw []byte) {
	if in.scratch = raw[:0]; cap(raw) > largestScratch {
		in.scratch = nil
	}
}

// unchanged reports whether the store has the state of a record that a list brought
// as an object: it has the same version, and is equal. The version alone does not say
// so, no more than that of bytes does (see isHeld).
func (in *ingester) unchanged(r *Record) bool {
	held := in.held
	if held == nil || held == r || !r.bytes.None() || held.marks&object == 0 || r.uid != held.uid {
		return false
	}
	v := r.Version().String() // one of them may count as a server's
	if v == "" || v != held.Version().String() {
		return false
	}
	if held.bytes.None() {
		return sameObjects(r.Object(), held.Object())
	}
	return in.sameAsBytes(r.Object(), held)
}

// sameAsBytes compares an object with a record that has bytes: the bytes, which is
// fast, and if they differ what they stand for.
func (in *ingester) sameAsBytes(obj any, held *Record) bool {
	if !in.distrust {
		raw, ok := in.encoder.EncodeAs(in.scratch[:0], obj, held.Format())
		in.keepScratch(raw)
		if ok && len(raw) == held.Size() && sumOf(held.Format(), raw) == held.sum() {
			return true
		}
	}
	was, err := in.collection.Decode(held, in.view, Pass)
	return err == nil && sameObjects(obj, was)
}

// arrival returns the decoding of the object that a record came as, if it is held
// otherwise and the object is still at hand.
func (r *Record) arrival() *decoding {
	for d := r.decodings.Load(); d != nil; d = d.next {
		if d.arrived {
			return d
		}
	}
	return nil
}

// holdArrived has a delta hold on to the object that its new state came as. Readers do
// not get those of a list, of which each keeps the memory of all. It is called before
// there are readers.
func (d *Delta) holdArrived(list bool) {
	if d.Kind == Deleted {
		return
	}
	if d.arrived = d.New.arrival(); d.arrived != nil && list {
		d.New.drop(d.arrived.view)
	}
}

// admitArrived has residency take in the objects of events that are in the store now.
func (c *Collection) admitArrived(deltas []Delta) {
	use := Pass
	if len(c.subs) > 0 {
		use = Delivered
	}
	for i := range deltas {
		if d := deltas[i].arrived; d != nil {
			c.resident.admit(deltas[i].New, d.view, use)
		}
	}
}
