package apijson

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

var errTime = errors.New("not an RFC 3339 date-time")

// Timestamp returns t in whole milliseconds, the precision of every time in the API.
func Timestamp(t time.Time) *timestamppb.Timestamp {
	return timestamppb.New(t.Truncate(time.Millisecond))
}

// OptionalTimestamp returns t in whole milliseconds, or nil.
func OptionalTimestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return Timestamp(*t)
}

// AppendTime appends the specification's form (Common conventions): UTC, milliseconds (anything finer is cut off) and a Z.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		// Only a damaged row can have a year that is negative or has five digits. It is shown as it is.
		return t.AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
	}
	hour, minute, second := t.Clock()
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b, '"',
		digit(year/1000), digit(year/100), digit(year/10), digit(year), '-',
		digit(int(month)/10), digit(int(month)), '-',
		digit(day/10), digit(day), 'T',
		digit(hour/10), digit(hour), ':',
		digit(minute/10), digit(minute), ':',
		digit(second/10), digit(second), '.',
		digit(ms/100), digit(ms/10), digit(ms), 'Z', '"')
}

func digit(n int) byte { return '0' + byte(n%10) }

// rfc3339 comes before time.Parse, which also accepts an hour of one digit, a comma before the fraction, or an offset of 99
// hours.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseTime parses an RFC 3339 date-time (section 5.6) with any offset, and returns UTC, truncated to nanoseconds. The year in
// UTC must be 1 to 9999. The RFC allows the second 60, which no stored time can have, so it is refused.
func ParseTime(s string) (time.Time, error) {
	if !rfc3339.MatchString(s) {
		return time.Time{}, errTime
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, errTime
	}
	return t, nil
}
