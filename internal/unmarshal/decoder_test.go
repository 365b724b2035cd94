package unmarshal

import (
	"errors"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// all has f run while each decoder but the last n is busy.
func all(n int, f func()) {
	if n == mostDecoders {
		f()
		return
	}
	_ = with(func(*decoder) error {
		all(n+1, f)
		return nil
	})
}

// TestNoCliffWithManyDecoders: however many goroutines decode at the same time, one
// more costs no more memory than the first.
func TestNoCliffWithManyDecoders(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}, Spec: corev1.PodSpec{NodeName: "c"}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	measure := func() uint64 {
		const rounds = 200
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			if err := Protobuf(raw, &corev1.Pod{}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	measure() // the first one fills what is remembered
	first := measure()
	var ninth, beyond uint64
	all(mostDecoders-wellRead, func() {
		measure()
		ninth = measure()
	})
	all(0, func() { beyond = measure() })
	t.Logf("bytes allocated: %d; with 56 others: %d; with more than there are decoders: %d", first, ninth, beyond)
	if most := first + 4096; ninth > most || beyond > most {
		t.Errorf("one more decoding allocates %d or %d bytes, the first %d", ninth, beyond, first)
	}
}

// TestPanicKeepsNoDecoder: a type whose method panics must not take a decoder along.
func TestPanicKeepsNoDecoder(t *testing.T) {
	for range 2 * mostDecoders {
		func() {
			defer func() { _ = recover() }()
			_ = with(func(*decoder) error { panic("no") })
		}()
	}
	free := errors.New("remembers words")
	if err := with(func(d *decoder) error {
		if d.words != nil {
			return free
		}
		return nil
	}); err != free {
		t.Error("every decoder is taken for ever")
	}
}
