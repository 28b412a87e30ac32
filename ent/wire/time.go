package wire

import (
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

var errTime = errors.New("not an RFC 3339 date-time")

// Timestamp returns t in whole milliseconds, as every moment of the API is.
func Timestamp(t time.Time) *timestamppb.Timestamp {
	return timestamppb.New(t.Truncate(time.Millisecond))
}

// OptionalTimestamp is Timestamp of a moment that may be absent; nil stays nil.
func OptionalTimestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return Timestamp(*t)
}

// AppendTime appends t as a JSON string in the form of the specification's Common conventions: UTC,
// milliseconds (anything finer is cut off) and a Z.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		// Such a moment can only come from a damaged row; show it as exactly as possible.
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

// ParseTime parses an RFC 3339 date-time (section 5.6) with any offset and returns it in UTC, cut
// off to nanoseconds. Years run from 1 to 9999, in UTC too. Unlike the RFC it refuses second 60,
// which no stored moment can have.
func ParseTime(s string) (time.Time, error) {
	const shortest = len("2006-01-02T15:04:05Z")
	if len(s) < shortest ||
		s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, errTime
	}
	year := number(s[0:2])*100 + number(s[2:4])
	if number(s[0:2]) < 0 || number(s[2:4]) < 0 {
		return time.Time{}, errTime
	}
	month, day := number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return time.Time{}, errTime
	}
	rest := s[19:]
	nanos := 0
	if rest[0] == '.' {
		n := 1
		for scale := int(100 * time.Millisecond); n < len(rest) && isDigit(rest[n]); n++ {
			nanos += int(rest[n]-'0') * scale
			scale /= 10
		}
		if n == 1 {
			return time.Time{}, errTime
		}
		rest = rest[n:]
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return time.Time{}, errTime
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC).Add(-offset)
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}, errTime
	}
	return t, nil
}

func parseOffset(s string) (time.Duration, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+00:00") || (s[0] != '+' && s[0] != '-') || s[3] != ':' {
		return 0, false
	}
	hours, minutes := number(s[1:3]), number(s[4:6])
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, true
}

// number reads two decimal digits; anything else is -1.
func number(s string) int {
	if !isDigit(s[0]) || !isDigit(s[1]) {
		return -1
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
