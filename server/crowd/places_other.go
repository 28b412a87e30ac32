//go:build !linux && !darwin

package crowd

// Places returns how many connections may be open: those wanted, where the system sets no limit.
func Places(wanted int) int { return wanted }
