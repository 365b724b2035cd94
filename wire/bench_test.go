package wire

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var formats = []Format{JSON, Protobuf}

func BenchmarkScan(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			raw := bare(b, f, samplePod(1))
			var m Meta
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Scan(f, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScanPeer is what apimachinery takes for the same metadata.
func BenchmarkScanPeer(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			raw := bare(b, f, samplePod(1))
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var o metav1.PartialObjectMetadata
				var err error
				if f == JSON {
					err = jsonUnmarshal(raw, &o)
				} else {
					err = o.Unmarshal(raw)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMetadata(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			raw := bare(b, f, samplePod(1))
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Metadata(f, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDropManagedFields(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			raw := bare(b, f, samplePod(1))
			var dst []byte
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = DropManagedFields(dst[:0], f, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFrame finds the end of a JSON object.
func BenchmarkFrame(b *testing.B) {
	raw := bare(b, JSON, samplePod(1))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var f framer
		if !f.scan(raw) {
			b.Fatal("no end")
		}
	}
}

// endless repeats a piece of a stream, in reads of at most chunk bytes.
type endless struct {
	piece []byte
	at    int
	chunk int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), e.chunk)], e.piece[e.at:])
	e.at = (e.at + n) % len(e.piece)
	return n, nil
}

func BenchmarkWatchReader(b *testing.B) {
	for _, f := range formats {
		b.Run(f.String(), func(b *testing.B) {
			var events []sampleEvent
			for i := range 64 {
				events = append(events, sampleEvent{Modified, samplePod(i)})
			}
			stream := watchStream(b, f, events...)
			w := NewWatchReader(&endless{piece: stream, chunk: 64 << 10}, Limits{})
			b.SetBytes(int64(len(stream) / 64))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListReader(b *testing.B) {
	for _, f := range formats {
		for _, buffer := range []int{64 << 10, 256 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/buffer=%dK", f, buffer>>10), func(b *testing.B) {
				body := encode(b, f, podList(1000))
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					l := NewListReader(bytes.NewReader(body), Limits{Buffer: buffer})
					n := 0
					for {
						_, err := l.Next()
						if err == io.EOF {
							break
						}
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
					if n != 1000 {
						b.Fatal(n)
					}
				}
			})
		}
	}
}
