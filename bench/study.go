package main

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/objects"
)

// The study packs objects of several kinds in several ways and prints what each
// costs. It uses the libraries alone and nothing of the engine, so that it can tell
// what the engine could choose.

// sample is one object as a server sends it.
type sample struct {
	raw    []byte
	family string // objects that are likely to be nearly equal have the same
}

// packing is one way of packing: with no dictionary, if it is empty.
type packing interface {
	// with prepares a dictionary of which many objects are packed.
	with(dictionary []byte) (pack, unpack func(dst, src []byte) ([]byte, error), err error)
}

// dictionarySize is the largest that s2 can use.
const dictionarySize = 64 << 10

func runStudy(n int) error {
	n = min(n, 5000)
	g := objects.New(objects.Options{Seed: 1})
	fmt.Println("| Objects | sent | packed with | alone | one dictionary for all | a sibling as dictionary |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, k := range []struct {
		name    string
		objects iter.Seq[metav1.Object]
	}{
		{"Pods", asObjects(g.Pods(n))},
		{"ConfigMaps", asObjects(g.ConfigMaps(n))},
		{"EndpointSlices", asObjects(g.EndpointSlices(n))},
		{"Nodes", asObjects(g.Nodes(n / 5))},
		{"custom resources, JSON", asObjects(g.CustomResources(n))},
	} {
		samples, err := sampled(k.objects)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if err := studyKind(k.name, samples); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func studyKind(name string, samples []sample) error {
	sent := 0
	for _, s := range samples {
		sent += len(s.raw)
	}
	for _, p := range []struct {
		name string
		packing
	}{{"s2", snappy{}}, {"s2, better", snappy{better: true}}, {"zstd, fastest", zstandard{zstd.SpeedFastest}}, {"zstd", zstandard{zstd.SpeedDefault}}} {
		cells := []string{fmt.Sprintf("%s %s", thousands(float64(len(samples))), name), thousands(float64(sent/len(samples))) + " B", p.name}
		for _, dictionaries := range []func([]sample) []lot{alone, oneForAll, siblings} {
			c, err := cost(p.packing, dictionaries(samples))
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			cells = append(cells, c.text(len(samples)))
		}
		fmt.Printf("| %s |\n", strings.Join(cells, " | "))
	}
	return nil
}

// A lot is packed against one dictionary.
type lot struct {
	dictionary []byte
	samples    []sample
	// kept: the dictionary is no object that is held anyway, and costs its own
	// bytes.
	kept bool
}

func alone(samples []sample) []lot { return []lot{{samples: samples}} }

// oneForAll takes the first objects as the dictionary of all.
func oneForAll(samples []sample) []lot {
	return []lot{{dictionary: firstBytes(samples), samples: samples, kept: true}}
}

func firstBytes(samples []sample) []byte {
	var d []byte
	for _, s := range samples {
		if len(d)+len(s.raw) > dictionarySize {
			break
		}
		d = append(d, s.raw...)
	}
	return d
}

// siblings packs each family against its first member, and those against the
// first objects of all.
func siblings(samples []sample) []lot {
	families := map[string]*lot{}
	var order []*lot
	first := lot{dictionary: firstBytes(samples), kept: true}
	for _, s := range samples {
		l := families[s.family]
		if l == nil {
			l = &lot{dictionary: s.raw}
			families[s.family] = l
			order = append(order, l)
			first.samples = append(first.samples, s)
			continue
		}
		l.samples = append(l.samples, s)
	}
	lots := []lot{first}
	for _, l := range order {
		if len(l.samples) > 0 {
			lots = append(lots, *l)
		}
	}
	return lots
}

// costs of packing many objects: times in seconds of CPU, as others use the machine,
// too. Making dictionaries is not counted: it is done once for many objects.
type costs struct {
	bytes   int
	in, out float64
}

func (c costs) text(n int) string {
	each := 1e6 / float64(n)
	return fmt.Sprintf("%s B, %.1f µs in, %.1f µs out", thousands(float64(c.bytes)/float64(n)), c.in*each, c.out*each)
}

// cost packs and unpacks, and compares what came back.
func cost(p packing, lots []lot) (costs, error) {
	var c costs
	for _, l := range lots {
		pack, unpack, err := p.with(l.dictionary)
		if err != nil {
			return c, err
		}
		if l.kept {
			c.bytes += len(l.dictionary)
		}
		packed := make([][]byte, len(l.samples))
		var buf []byte
		began := cpu()
		for i, s := range l.samples {
			if buf, err = pack(buf[:0], s.raw); err != nil {
				return c, err
			}
			packed[i] = bytes.Clone(buf)
			c.bytes += len(buf)
		}
		c.in += cpu() - began
		began = cpu()
		for i, s := range l.samples {
			if buf, err = unpack(buf[:0], packed[i]); err != nil {
				return c, err
			}
			if !bytes.Equal(buf, s.raw) {
				return c, fmt.Errorf("an object of %d bytes came back otherwise", len(s.raw))
			}
		}
		c.out += cpu() - began
	}
	return c, nil
}

// snappy is s2.
type snappy struct{ better bool }

func (p snappy) with(dictionary []byte) (pack, unpack func(dst, src []byte) ([]byte, error), err error) {
	room := func(dst []byte, n int) []byte { return slices.Grow(dst, n)[:n] }
	if len(dictionary) == 0 {
		encode := s2.Encode
		if p.better {
			encode = s2.EncodeBetter
		}
		return func(dst, src []byte) ([]byte, error) {
				return encode(room(dst, s2.MaxEncodedLen(len(src))), src), nil
			}, func(dst, src []byte) ([]byte, error) {
				n, err := s2.DecodedLen(src)
				if err != nil {
					return nil, err
				}
				return s2.Decode(room(dst, n), src)
			}, nil
	}
	d := s2.MakeDict(dictionary, nil)
	if d == nil {
		return nil, nil, fmt.Errorf("%d bytes are no dictionary", len(dictionary))
	}
	encode := d.Encode
	if p.better {
		encode = d.EncodeBetter
	}
	return func(dst, src []byte) ([]byte, error) {
			return encode(room(dst, s2.MaxEncodedLen(len(src))), src), nil
		}, func(dst, src []byte) ([]byte, error) {
			n, err := s2.DecodedLen(src)
			if err != nil {
				return nil, err
			}
			return d.Decode(room(dst, n), src)
		}, nil
}

// zstandard is zstd.
type zstandard struct{ level zstd.EncoderLevel }

func (z zstandard) with(dictionary []byte) (pack, unpack func(dst, src []byte) ([]byte, error), err error) {
	const id = 1
	eo := []zstd.EOption{zstd.WithEncoderLevel(z.level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(2 * dictionarySize)}
	do := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
	if len(dictionary) > 0 {
		eo, do = append(eo, zstd.WithEncoderDictRaw(id, dictionary)), append(do, zstd.WithDecoderDictRaw(id, dictionary))
	}
	e, err := zstd.NewWriter(nil, eo...)
	if err != nil {
		return nil, nil, err
	}
	d, err := zstd.NewReader(nil, do...)
	if err != nil {
		return nil, nil, err
	}
	return func(dst, src []byte) ([]byte, error) { return e.EncodeAll(src, dst), nil },
		func(dst, src []byte) ([]byte, error) { return d.DecodeAll(src, dst) }, nil
}

// sampled encodes objects as a server sends them: in protobuf where they have it.
func sampled(all iter.Seq[metav1.Object]) ([]sample, error) {
	var out []sample
	for obj := range all {
		var raw []byte
		var err error
		switch o := obj.(type) {
		case interface{ Marshal() ([]byte, error) }:
			raw, err = o.Marshal()
		case *unstructured.Unstructured:
			raw, err = o.MarshalJSON()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, sample{raw: raw, family: familyOf(obj)})
	}
	return out, nil
}

// familyOf is the owner, or what else may make objects alike: the keys of their
// labels.
func familyOf(obj metav1.Object) string {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		return string(owner.UID)
	}
	var keys []string
	for k := range obj.GetLabels() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}

func asObjects[T metav1.Object](in iter.Seq[T]) iter.Seq[metav1.Object] {
	return func(yield func(metav1.Object) bool) {
		for obj := range in {
			if !yield(obj) {
				return
			}
		}
	}
}
