package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/admin"
)

// instant is a date-time, or how long ago it was by the clock of the database or server.
type instant struct {
	at  time.Time
	ago *time.Duration // nil once at is known
}

// UnmarshalText reads an RFC 3339 date-time, or how long ago the moment was.
func (i *instant) UnmarshalText(text []byte) error {
	if at, err := timeOf(string(text)); err == nil {
		*i = instant{at: at}
		return nil
	}
	ago, err := lengthOf(string(text))
	if err != nil || ago < 0 {
		return fmt.Errorf("must be a time such as 2026-10-01T12:00:00Z or 2026-10-01, or how long ago it was, such as 30m, 1h or "+
			"7d, not %q", text)
	}
	*i = instant{ago: &ago}
	return nil
}

// timeOf reads a date-time, or a date, which is its beginning in UTC.
func timeOf(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	return apijson.ParseTime(text)
}

// message is the moment as the API takes it, the same for each of a list's pages; nil stays nil.
func (i *instant) message(ctx context.Context, o admin.API) (*timestamppb.Timestamp, error) {
	if i == nil {
		return nil, nil //nolint:nilnil // No moment is no error.
	}
	if i.ago != nil {
		now, err := o.Now(ctx)
		if err != nil {
			return nil, err
		}
		*i = instant{at: now.Add(-*i.ago)}
	}
	return timestamppb.New(i.at), nil
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
	at, err := timeOf(string(text))
	if err != nil {
		return fmt.Errorf("must be a time such as 2026-12-31T23:59:59Z or 2026-12-31, or none, not %q", text)
	}
	i.value = timestamppb.New(at)
	return nil
}
