package cache

import "time"

// LeaseOptions of the leases that the factories of kinform give. The zero value works.
type LeaseOptions struct {
	// Grace is how long an informer goes on after its last lease is released, for the next
	// one who needs it. Zero or less is the default: it ends at once. Set it where leases
	// come and go faster than what is listed for each is worth.
	Grace time.Duration
}
