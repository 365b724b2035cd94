//go:build race

package engine

func init() { raced = true }
