package cache

// SharedKeys is how many selections the registry of cores that can be shared has
// entries for.
func SharedKeys() int {
	cores.mu.Lock()
	defer cores.mu.Unlock()
	return len(cores.byKey)
}
