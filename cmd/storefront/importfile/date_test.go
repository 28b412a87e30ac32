package importfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

func TestDatesOfAFile(t *testing.T) {
	t.Parallel()
	const header = "reference,status,total,email,createdAt\n"
	for _, row := range []struct {
		o          options
		text, want string
		says       []string
	}{
		{options{DateFormat: "MM/DD/YYYY"}, header + "A1,PAID,5,a@example.com,8/4/2026 19:26\n", "2026-08-04T19:26:00Z",
			[]string{`createdAt has no time zone and is read as UTC; --time-zone reads it as another ("8/4/2026 19:26"): line 2`}},
		{options{DateFormat: "DD/MM/YYYY", TimeZone: "Europe/Paris"}, header + "A1,PAID,5,a@example.com,8/4/2026 7:26 PM\n",
			"2026-04-08T17:26:00Z", []string{`createdAt has no time zone and is read as Europe/Paris ("8/4/2026 7:26 PM"): line 2`}},
		{options{TimeZone: "Europe/Paris"}, header + "A1,PAID,5,a@example.com,2026-10-25 02:30\n", "2026-10-25T00:30:00Z",
			[]string{`createdAt is a time that Europe/Paris had twice that day, because clocks were set back; the first is taken ` +
				`("2026-10-25 02:30"): line 2`}},
		{options{TimeZone: "Europe/Paris"}, header + "A1,PAID,5,a@example.com,2026-10-25 02:30 +0100\n", "2026-10-25T01:30:00Z", nil},
		{options{TimeZone: "Europe/Paris"}, strings.Replace(header, "createdAt", "created (UTC)", 1) +
			"A1,PAID,5,a@example.com,2026-10-25 02:30\n", "2026-10-25T02:30:00Z", nil},
		{options{TimeZone: "Asia/Tokyo", From: "gumroad"}, "Purchase ID,Purchase Date,Purchase Email,Sale Price ($),Item Name,Item Price ($)\n" +
			"A1,2026-10-25,a@example.com,5,A,5\n", "2026-10-25T00:00:00Z", nil},
	} {
		dbtest.Run(t, func(t *testing.T, d *db.DB) {
			s := storeOn(t, d, "USD", "US")
			row.o.Kind = orders
			row.o.Columns = []column{{"created (UTC)", "createdAt"}}
			if !strings.Contains(row.text, "(UTC)") {
				row.o.Columns = nil
			}
			for _, dry := range []bool{true, false} {
				row.o.DryRun = dry
				require.Equal(t, row.says, append([]string(nil), notes(s.load(row.o, []byte(row.text)).Notes)...))
			}
			require.Equal(t, row.want, s.orders()[0].GetCreatedAt().AsTime().Format("2006-01-02T15:04:05Z07:00"))
		})
	}
	s := storeOf(t, "USD", "US")
	for text, want := range map[string]string{
		"8/4/2026 19:26":   "createdAt can be read in two ways: say which with --date-format DD/MM/YYYY or MM/DD/YYYY",
		"08-04-26":         "createdAt can be read in three ways: say which with --date-format DD-MM-YY or MM-DD-YY or YY-MM-DD",
		"4/25/26":          "createdAt has a year of two digits: say how it is read with --date-format MM/DD/YY",
		"2026-03-29 02:30": "createdAt is a time that Europe/Paris did not have that day, because clocks were set forward",
	} {
		_, err := s.try(options{Kind: orders, TimeZone: "Europe/Paris"}, []byte(header+"A1,PAID,5,a@example.com,"+text+"\n"))
		require.ErrorContains(t, err, want)
	}
}
