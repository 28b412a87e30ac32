// Package need skips heavy tests, and tests whose programs are missing. With STOREFRONT_TEST_REQUIRE, as in CI, heavy tests
// run, and a missing program fails a test. Every package's tests may use it.
package need

import (
	"os"
	"testing"
)

// Required reports whether STOREFRONT_TEST_REQUIRE is set.
func Required() bool { return os.Getenv("STOREFRONT_TEST_REQUIRE") != "" }

// Missing skips the test, or lets it fail if Required. The text says what is missing and how to get it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Required() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Heavy skips a test that costs more than two seconds of a processor, or that waits for real time, unless Required. go test -v
// shows the reason.
func Heavy(t testing.TB, reason string) {
	t.Helper()
	if !Required() {
		t.Skipf("heavy: %s; STOREFRONT_TEST_REQUIRE=1 runs it", reason)
	}
}
