package humane

import "testing"

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Count(0, "object"), "0 objects"},
		{Count(1, "failed attempt"), "1 failed attempt"},
		{Count(int64(1204), "object"), "1,204 objects"},
		{Thousands(-1000), "-1,000"},
		{Thousands(-100), "-100"},
		{Thousands(uint64(1234567)), "1,234,567"},
		{Size(0), "0 B"},
		{Size(999), "999 B"},
		{Size(1500), "1.5 kB"},
		{Size(int64(12_345_678)), "12 MB"},
		{Size(int64(999_600)), "1.0 MB"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
