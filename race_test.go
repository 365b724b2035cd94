//go:build race

package kinform_test

func init() { raced = true }
