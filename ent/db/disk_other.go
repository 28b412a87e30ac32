//go:build !linux && !darwin && !windows

package db

import "errors"

// FreeBytes is not implemented on this system.
func FreeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }

// linksOf returns 1, because there is no common way to ask.
func linksOf(string) (uint64, error) { return 1, nil }
