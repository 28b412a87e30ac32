package apijson

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

func TestParseTimeKeepsNanoseconds(t *testing.T) {
	t.Parallel()
	got, err := ParseTime("2026-09-01T12:00:00.1239999996Z")
	require.NoError(t, err)
	require.Equal(t, 123999999, got.Nanosecond())
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want string // what AppendTime writes; empty if ParseTime fails
	}{
		"UTC":                                {"2026-09-01T12:00:00Z", "2026-09-01T12:00:00.000Z"},
		"milliseconds":                       {"2026-09-01T12:00:00.123Z", "2026-09-01T12:00:00.123Z"},
		"one digit of a fraction":            {"2026-09-01T12:00:00.1Z", "2026-09-01T12:00:00.100Z"},
		"nanoseconds, spelt in milliseconds": {"2026-09-01T12:00:00.123999999Z", "2026-09-01T12:00:00.123Z"},
		"any number of digits":               {"2026-09-01T12:00:00.99999999999999999999999999Z", "2026-09-01T12:00:00.999Z"},
		"an offset to the east":              {"2026-09-01T12:00:00+05:45", "2026-09-01T06:15:00.000Z"},
		"an offset to the west":              {"2026-09-01T20:00:00-08:00", "2026-09-02T04:00:00.000Z"},
		"an unknown local offset":            {"2026-09-01T12:00:00-00:00", "2026-09-01T12:00:00.000Z"},
		"lower case, as RFC 3339 lets it":    {"2026-09-01t12:00:00z", "2026-09-01T12:00:00.000Z"},
		"29 February of a leap year":         {"2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"},
		"29 February of 2000":                {"2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"},
		"the first moment":                   {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"},
		"the last moment":                    {"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
		"29 February of another year":        {"2026-02-29T00:00:00Z", ""},
		"29 February of 1900":                {"1900-02-29T00:00:00Z", ""},
		"31 April":                           {"2026-04-31T00:00:00Z", ""},
		"month 0":                            {"2026-00-01T00:00:00Z", ""},
		"month 13":                           {"2026-13-01T00:00:00Z", ""},
		"day 0":                              {"2026-01-00T00:00:00Z", ""},
		"hour 24":                            {"2026-01-01T24:00:00Z", ""},
		"minute 60":                          {"2026-01-01T00:60:00Z", ""},
		"a leap second":                      {"2016-12-31T23:59:60Z", ""},
		"year 0":                             {"0000-01-01T00:00:00Z", ""},
		"before the first year by offset":    {"0001-01-01T00:00:00+00:01", ""},
		"after the last year by offset":      {"9999-12-31T23:59:59-00:01", ""},
		"a year of five digits":              {"12026-01-01T00:00:00Z", ""},
		"a signed year":                      {"-026-01-01T00:00:00Z", ""},
		"no offset":                          {"2026-09-01T12:00:00", ""},
		"no offset, with a fraction":         {"2026-09-01T12:00:00.000", ""},
		"an offset without a colon":          {"2026-09-01T12:00:00+0200", ""},
		"an offset of hours alone":           {"2026-09-01T12:00:00+02", ""},
		"an offset of 24 hours":              {"2026-09-01T12:00:00+24:00", ""},
		"an offset of 60 minutes":            {"2026-09-01T12:00:00+01:60", ""},
		"a plus that became a space":         {"2026-09-01T12:00:00 02:00", ""},
		"a date":                             {"2026-09-01", ""},
		"a space for the T":                  {"2026-09-01 12:00:00Z", ""},
		"a fraction without digits":          {"2026-09-01T12:00:00.Z", ""},
		"a comma for the point":              {"2026-09-01T12:00:00,5Z", ""},
		"one digit of an hour":               {"2026-09-01T1:00:000Z", ""},
		"text after it":                      {"2026-09-01T12:00:00Z ", ""},
		"digits of another script":           {"2026-09-01T12:00:0٠Z", ""},
		"slashes":                            {"2026/09/01T12:00:00Z", ""},
		"nothing":                            {"", ""},
		"a byte that only looks like a T|1":  {"2026-09-01\x5412:00:00Z", "2026-09-01T12:00:00.000Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseTime(row.text)
			if row.want == "" {
				require.Error(t, err, "%v", got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, `"`+row.want+`"`, string(AppendTime(nil, got)))
			require.Equal(t, time.UTC, got.Location())
		})
	}
}

func TestAppendTimeIsTheLayout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).
			In(time.FixedZone("z", rapid.IntRange(-43200, 43200).Draw(t, "zone")))
		require.Equal(t, at.UTC().Format(`"2006-01-02T15:04:05.000Z"`), string(AppendTime(nil, at)))
	})
	require.Equal(t, `"12026-01-01T00:00:00.000Z"`, string(AppendTime(nil, time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC))))
}

func TestTimestampIsInMilliseconds(t *testing.T) {
	t.Parallel()
	at := noon.Add(1999999 * time.Nanosecond)
	require.Equal(t, &timestamppb.Timestamp{Seconds: noon.Unix(), Nanos: 1000000}, Timestamp(at))
	require.Equal(t, Timestamp(at), OptionalTimestamp(&at))
	require.Nil(t, OptionalTimestamp(nil))
}
