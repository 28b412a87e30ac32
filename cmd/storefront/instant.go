package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/wire"
)

// instant is a date-time.
type instant time.Time

// UnmarshalText reads an RFC 3339 date-time, or how long ago the moment was.
func (i *instant) UnmarshalText(text []byte) error {
	if at, err := wire.ParseTime(string(text)); err == nil {
		*i = instant(at)
		return nil
	}
	ago, err := lengthOf(string(text))
	if err != nil || ago < 0 {
		return fmt.Errorf("must be a time such as 2026-10-01T12:00:00Z, or how long ago it was, such as 30m, 1h or 7d, not %q", text)
	}
	*i = instant(time.Now().UTC().Add(-ago))
	return nil
}

// message is the moment as the API takes it; nil stays nil.
func (i *instant) message() *timestamppb.Timestamp {
	if i == nil {
		return nil
	}
	return timestamppb.New(time.Time(*i))
}

// lengthOf reads a length of time such as 90s, 1h30m or 7d.
func lengthOf(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err //nolint:gosec // At most 65,535 days.
	}
	return time.ParseDuration(text)
}

// instantOrNone is a date-time, or none.
type instantOrNone struct{ orNone[timestamppb.Timestamp] }

// UnmarshalText reads an RFC 3339 date-time or none.
func (i *instantOrNone) UnmarshalText(text []byte) error {
	i.given, i.value = true, nil
	if isNone(text) {
		return nil
	}
	at, err := wire.ParseTime(string(text))
	if err != nil {
		return fmt.Errorf("must be a time such as 2026-12-31T23:59:59Z, or none, not %q", text)
	}
	i.value = timestamppb.New(at)
	return nil
}
