// Package need decides which tests are skipped: heavy tests, and tests whose programs are missing. With STOREFRONT_TEST_REQUIRE
// set, as in CI, heavy tests run, and a test whose program is missing fails. Every package's tests may use it.
package need

import (
	"os"
	"testing"
)

// Required reports whether STOREFRONT_TEST_REQUIRE is set, so that no test may be skipped.
func Required() bool { return os.Getenv("STOREFRONT_TEST_REQUIRE") != "" }

// Missing skips the test, or lets it fail if nothing may be skipped. The text says what is missing and how to get it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Required() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Heavy skips a test that costs more than two seconds of a processor, or that waits for real time, unless nothing may be
// skipped. The reason says what the test does, for go test -v.
func Heavy(t testing.TB, reason string) {
	t.Helper()
	if !Required() {
		t.Skipf("heavy: %s; STOREFRONT_TEST_REQUIRE=1 runs it", reason)
	}
}
