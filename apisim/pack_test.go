package apisim

import (
	"bytes"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/internal/objects"
)

func TestPack(t *testing.T) {
	codec := typedCodec{corev1.SchemeGroupVersion.WithKind("Pod")}
	var p packer
	plainSize, packedSize := 0, 0
	var buffer []byte
	for pod := range objects.Pods(1, 3*maxGroups) {
		data, err := codec.encode(pod)
		if err != nil {
			t.Fatal(err)
		}
		b := p.pack(family(&resource{}, pod), data)
		if !bytes.Equal(b.data(), data) || b.size != len(data) {
			t.Fatalf("%s is not what was packed", pod.Name)
		}
		if buffer = b.dataIn(buffer); !bytes.Equal(buffer, data) {
			t.Fatalf("%s is not what was packed, with a buffer", pod.Name)
		}
		if b.sibling == nil {
			buffer = nil
		}
		plainSize += len(data)
		packedSize += len(b.bytes)
	}
	if packedSize*4 > plainSize {
		t.Errorf("%d bytes were packed into %d", plainSize, packedSize)
	}
}

// TestPackNoise packs what has nothing in common.
func TestPackNoise(t *testing.T) {
	var p packer
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, minPacked - 1, minPacked, 4000, 65536, 65537, 300_000} {
		for range 3 {
			data := make([]byte, size)
			_, _ = random.Read(data)
			b := p.pack("family", data)
			if !bytes.Equal(b.data(), data) {
				t.Fatalf("%d random bytes are not what was packed", size)
			}
		}
	}
}

// TestUnpackerLeavesPlainObjectsAlone: the buffer for packed objects is never
// the memory of a plain one.
func TestUnpackerLeavesPlainObjectsAlone(t *testing.T) {
	var p packer
	first := bytes.Repeat([]byte("abcdefgh"), 200)
	second := append([]byte("x"), first...)
	p.pack("family", first)
	packed := &object{blob: p.pack("family", second)}
	if packed.sibling == nil {
		t.Fatal("nothing was packed")
	}
	kept := bytes.Repeat([]byte("z"), 4000)
	var u unpacker
	u.data(&object{blob: plain(kept)})
	if got := u.data(packed); !bytes.Equal(got, second) {
		t.Error("unpacked something else")
	}
	if !bytes.Equal(kept, bytes.Repeat([]byte("z"), 4000)) {
		t.Error("a plain object was written over")
	}
}
