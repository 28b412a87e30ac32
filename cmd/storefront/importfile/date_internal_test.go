package importfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var timesOfDay = []string{"19:26", "19:26:05", "7:26 PM", "7:26:05 pm", "07:26PM", "7:26\u202fPM", "7:26 p.\u00a0m.", "19.26", "19.26.05", "19h26",
	"19:26:05.123", "19:26:05.123456", "19:26Z", "19:26:05+00", "19:26 +0000", "19:26:05 +00:00", "19:26 UTC", "19:26:05 GMT", "19:26:05 +0000 UTC"}

// Day and month may have one or two digits, the separators may differ, and a time of day may follow in any form.
func TestNamedDates(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 8, 4, 19, 26, 0, 0, time.UTC)
	for format, days := range map[string][]string{
		"MM/DD/YYYY": {"8/4/2026", "08/04/2026", "8/04/2026", "8.4.2026", "8-4-2026", "\u200e8/\u200e4/\u200e2026"}, "M/D/YYYY": {"8/4/2026", "08/04/2026"},
		"DD/MM/YYYY": {"4/8/2026", "04/08/2026"}, "DD.MM.YYYY": {"4.8.2026", "04.08.2026"}, "DD-MM-YYYY": {"4-8-2026", "04-08-2026"},
		"MM/DD/YY": {"8/4/26", "08/04/26"}, "DD.MM.YY": {"4.8.26"}, "YY/MM/DD": {"26/8/4"}, "YYYY-DD-MM": {"2026-04-08", "2026-4-8"},
		"YYYY-MM-DD": {"2026-08-04", "2026-8-4", "2026/8/4"}, "DD MMM YYYY": {"4 Aug 2026", "04 aug 2026"}, "MMM D, YYYY": {"Aug 4, 2026"},
		"MMMM D, YYYY": {"August 4, 2026"}, "YYYYMMDD": {"20260804"}, "MM/DD/YYYY HH:mm": {"8/4/2026"}, "MM/DD/YYYY hh:mm A": {"8/4/2026"},
		"DD/MM/YYYY HH:mm:ss": {"4/8/2026"},
	} {
		d, err := datesOf(format, "")
		require.NoError(t, err, format)
		for _, day := range days {
			for _, separator := range []string{" ", ", ", ",", "  ", "\u00a0"} {
				for _, clock := range timesOfDay {
					read, err := d.parse(day+separator+clock, nil)
					require.NoError(t, err, "%s: %q", format, day+separator+clock)
					require.Equal(t, want, read.at.Truncate(time.Minute), "%s: %q", format, day+separator+clock)
					require.False(t, read.dateOnly)
				}
			}
			read, err := d.parse(day, nil)
			require.NoError(t, err, day)
			require.Equal(t, want.Truncate(24*time.Hour), read.at, day)
			require.True(t, read.dateOnly)
		}
	}
	for format, text := range map[string]string{
		"HH:mm DD/MM/YYYY": "19:26 04/08/2026", "hh:mm A, M/D/YYYY": "7:26 PM, 8/4/2026", "YYYYMMDDHHmmss": "20260804192600",
	} {
		d, err := datesOf(format, "")
		require.NoError(t, err, format)
		read, err := d.parse(text, nil)
		require.NoError(t, err, text)
		require.Equal(t, want, read.at, text)
	}
}

// A text that is not in the form of --date-format is never read in another form.
func TestDatesThatAreRefused(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string][]string{
		"": {"8/4/2026", "8/4/26", "13/13/2026", "31.02.2026", "1/2-2026", "2026-13-01", "8/13/26 at noon", "31/12/2026 24:00", "31/12/2026 10:60",
			"31/12/2026 13:00 PM", "31/12/2026 10:00 EST", "31/12/2026 10:00 +9900", "soon", "46238.8", "12:00"},
		"MM/DD/YYYY": {"13/4/2026", "31.12.2026", "8/4/26", "8/4/2026 at noon", "4 Aug 2026", "8/4/2026 25:00", "8/4/2026 7:26 XM"},
		"YYYY-DD-MM": {"2026-08-14"}, "DD/MM/YYYY": {"4/13/2026"}, "YYYYMMDD": {"2026804"},
	} {
		d, err := datesOf(format, "")
		require.NoError(t, err)
		for _, text := range texts {
			_, err := d.parse(text, nil)
			require.Error(t, err, "%s: %s", format, text)
		}
	}
	for _, format := range []string{"day/month", "DD/MM", "dd/mm/yyyy", "%d/%m/%Y", "DD/MM/Y"} {
		_, err := datesOf(format, "")
		require.ErrorIs(t, err, ErrOptions, format)
		_, examples, _ := strings.Cut(err.Error(), "such as ")
		for example := range strings.SplitSeq(examples, " or ") {
			_, err := datesOf(example, "")
			require.NoError(t, err, "what a refusal shows is accepted")
		}
	}
	for _, zone := range []string{"Europe", "Europe/Pari", "Local", "CEST", "+02:00", "../etc/passwd", " "} {
		_, err := datesOf("", zone)
		require.ErrorIs(t, err, ErrOptions, zone)
	}
}

// Each form that the error suggests reads the date.
func TestAdviceReadsTheDateThatItIsGivenOf(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Map(rapid.IntRange(1, 13), func(n int) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.IntRange(1, 32), func(n int) string { return fmt.Sprintf("%02d", n) }))
	clocks := append([]string{"", "25:00", "noon"}, timesOfDay...)
	advised := 0
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]string{"/", "-", "."}).Draw(t, "separator")
		year := rapid.SampledFrom([]string{"2026", "26", "04", "1999"}).Draw(t, "year")
		text := strings.TrimSpace(number.Draw(t, "first") + separator + number.Draw(t, "second") + separator + year +
			rapid.SampledFrom([]string{" ", ", ", ",", "\u202f"}).Draw(t, "space") + rapid.SampledFrom(clocks).Draw(t, "clock"))
		_, err := dates{zone: time.UTC}.parse(text, nil)
		if err == nil {
			return
		}
		_, forms, named := strings.Cut(err.Error(), "--date-format ")
		if !named {
			if !errors.Is(err, errDate) {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		advised++
		for form := range strings.SplitSeq(forms, " or ") {
			d, err := datesOf(form, "")
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if _, err := d.parse(text, nil); err != nil {
				t.Fatalf("%s does not read %q: %v", form, text, err)
			}
		}
	})
	require.Positive(t, advised)
	_, examples, _ := strings.Cut(errDate.Error(), "such as ")
	for example := range strings.SplitSeq(strings.ReplaceAll(examples, " or ", ", "), ", ") {
		_, err := dates{zone: time.UTC}.parse(example, nil)
		require.NoError(t, err, "what a refusal shows is read")
	}
}

// A date is read in --time-zone, even where clocks were changed.
func TestDatesInAZone(t *testing.T) {
	t.Parallel()
	const gap = "did not have that day, because clocks were set forward"
	for _, row := range []struct {
		zone, text, want string // the error, or the time in UTC
		twice            bool
	}{
		{"Europe/Paris", "2026-01-31 15:04", "2026-01-31T14:04:00Z", false},
		{"Europe/Paris", "2026-07-31 15:04", "2026-07-31T13:04:00Z", false},
		{"Europe/Paris", "2026-07-31 15:04 +0000", "2026-07-31T15:04:00Z", false},
		{"Europe/Paris", "2026-07-31", "2026-07-30T22:00:00Z", false},
		{"Europe/Paris", "2026-03-29 01:59:59", "2026-03-29T00:59:59Z", false},
		{"Europe/Paris", "2026-03-29 02:00", gap, false},
		{"Europe/Paris", "2026-03-29 02:59", gap, false},
		{"Europe/Paris", "2026-03-29 03:00", "2026-03-29T01:00:00Z", false},
		{"Europe/Paris", "2026-10-25 01:59", "2026-10-24T23:59:00Z", false},
		{"Europe/Paris", "2026-10-25 02:00", "2026-10-25T00:00:00Z", true},
		{"Europe/Paris", "2026-10-25 02:59", "2026-10-25T00:59:00Z", true},
		{"Europe/Paris", "2026-10-25 03:00", "2026-10-25T02:00:00Z", false},
		{"America/New_York", "3/8/2026 2:30 AM", gap, false},
		{"America/New_York", "2026-11-01 01:30", "2026-11-01T05:30:00Z", true},
		{"Australia/Lord_Howe", "2026-10-04 02:15", gap, false}, // clocks were set forward by half an hour
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", false},
		{"Africa/Cairo", "2026-04-24 00:30", gap, false},
		{"Asia/Kolkata", "2026-04-24 00:30", "2026-04-23T19:00:00Z", false},
		{"UTC", "2026-03-29 02:30", "2026-03-29T02:30:00Z", false},
	} {
		d, err := datesOf("MM/DD/YYYY", row.zone)
		require.NoError(t, err)
		read, err := d.parse(row.text, nil)
		if row.want == gap {
			require.ErrorContains(t, err, row.zone+" "+gap, row.text)
			continue
		}
		require.NoError(t, err, row.text)
		require.Equal(t, row.want, read.at.UTC().Format(time.RFC3339), "%s in %s", row.text, row.zone)
		require.Equal(t, row.twice, read.repeatedHour, "%s in %s", row.text, row.zone)
	}
	// At the time that parse returns, clocks in the zone show the text.
	zones := []string{"Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran", "America/Havana", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		d, err := datesOf("", rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0).In(d.zone)
		text := at.Format("2006-01-02 15:04:05")
		read, err := d.parse(text, nil)
		if err != nil || read.at.In(d.zone).Format("2006-01-02 15:04:05") != text || read.at.After(at) || read.at.Before(at) != read.repeatedHour && read.at.Before(at) {
			t.Fatalf("%s: %v, %v", at, read.at, err)
		}
	})
}
