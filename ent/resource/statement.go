package resource

import (
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// WideDays is how many days a wide interval covers. Package count keeps a count for each day and one for each wide interval,
// whose first day is a multiple of WideDays.
const WideDays = 32

// Day returns the UTC day of a time, as the number of days since 1 January 1970.
func Day(at time.Time) int64 {
	d := at.UnixMilli() / day.Milliseconds()
	if at.UnixMilli()%day.Milliseconds() < 0 {
		d--
	}
	return d
}

// DayStart returns the time at which the day d begins. d is a number that Day returns.
func DayStart(d int64) time.Time { return time.UnixMilli(d * day.Milliseconds()).UTC() }

// WideStart returns the first day of the wide interval that contains the day d.
func WideStart(d int64) int64 { return d &^ (WideDays - 1) }

// nextDay returns the first day that begins at or after the time at.
func nextDay(at time.Time) int64 { return Day(at.Add(day - time.Millisecond)) }

// statement builds the SQL of a list. The text of the SQL depends on which filters are set and on the page's size, but not on
// the filters' values, so that a connection prepares each text once.
//
// The statement reads few of the matching rows, because package count keeps a count for each day and for each wide interval. It
// cuts the time between from and to into pieces. Only the rows of a piece that is a part of a day are counted along the index.
//
//	from                                                                       to
//	 │ rest of a day │ days │ wide interval │ wide interval │ … │ days │ rest of a day │
//	   index          counts   counts          counts              counts   index
//
// The total is the sum of the pieces. A running sum over the pieces finds the piece in which a page begins. If this piece is
// a wide interval, a running sum over its days finds the day. From there the page is read along the index. So a list reads the
// counts of all wide intervals and of fewer than 100 days, and skips along the index only rows of one day.
type statement struct {
	*filter
	list
	dialect     *Dialect
	toParameter string // the SQL placeholder of the filter's time to; "" if the list has no such filter
}

// Dialect has the parts of a list's SQL that differ between PostgreSQL and SQLite.
type Dialect struct {
	// trigrams is true if the database has trigram indexes for searches.
	trigrams bool
	// deltas is true if a list must add the row deltas to the counts.
	deltas bool
	// page makes the query of a page stricter, so that a page beyond the end of the list reads no rows. It returns where and
	// limit, one of them with a further condition on offset.
	page func(where, offset, limit string) (string, string)
	// createdBefore returns the condition that a row was created before a day begins and, if the list's filter has an end,
	// before that end. day is SQL for the number of the day.
	createdBefore func(s *statement, day string) string
}

// The dialects of the two databases.
var (
	Postgres = &Dialect{
		trigrams: true,
		deltas:   true,
		page: func(where, offset, limit string) (string, string) {
			return where + " AND " + offset + " < (SELECT total FROM counted)", limit
		},
		createdBefore: func(s *statement, day string) string {
			return s.toCondition() + " AND created_at < to_timestamp(" + day + " * 86400.0)"
		},
	}
	SQLite = &Dialect{
		page: func(where, offset, limit string) (string, string) {
			return where, "(CASE WHEN " + offset + " < (SELECT total FROM counted) THEN " + limit + " ELSE 0 END)"
		},
		createdBefore: func(s *statement, day string) string {
			if s.toParameter == "" {
				return " AND created_at < " + day + " * 86400000"
			}
			// Write one condition. If there were two, SQLite would search the index by only one, and test the other on every row that
			// it finds.
			return " AND created_at < min(" + s.toParameter + ", " + day + " * 86400000)"
		},
	}
)

// storeCondition is the condition that a row is the store's. The store's id is the first argument of every statement.
const storeCondition = "store_id = $1"

// numberParameter and timeParameter add an argument and return an expression for it. The expression is a subquery. With a
// plain parameter PostgreSQL would plan the statement at every call, because it would expect the plan for the one value to be
// cheaper than a plan for all values. For the same reason the page's size is written into the statement's text.
func (s *statement) numberParameter(n int64) string {
	return "(SELECT CAST(" + s.args.Add(n) + " AS bigint))"
}

func (s *statement) timeParameter(at time.Time) string {
	return "(SELECT CAST(" + s.args.Add(at) + " AS timestamptz))"
}

// scannedPage returns the statement of a list that counts the matching rows one by one.
func (s *statement) scannedPage(page Page) string {
	if s.from != nil {
		s.where += " AND created_at >= " + s.timeParameter(*s.from)
	}
	if s.to != nil {
		s.toParameter = s.timeParameter(*s.to)
		s.where += s.toCondition()
	}
	total := "SELECT count(*) AS total FROM " + s.table + " WHERE " + storeCondition + s.where
	offset := s.numberParameter(page.Offset)
	where, limit := s.dialect.page(s.where, offset, strconv.Itoa(page.Size))
	if page.Offset > 0 {
		limit += " OFFSET " + offset
	}
	counted := "WITH counted AS MATERIALIZED (" + total + ")\n"
	switch {
	case s.text && s.dialect.trigrams:
		return counted + s.rows("counted", s.searchQuery(where, limit), true)
	case s.text: // on SQLite the index has the compared texts, so comparing them looks up no row
		return counted + s.rows("counted", s.indexScan("id", where, limit), true)
	}
	return counted + s.rows("counted", s.page(where, limit, page), page.Offset > 0)
}

// fewMatches is the highest number of a search's matches for which the statement looks up and sorts all matches. If there
// are more, it reads the list in its order until the page is full.
var fewMatches = 20_000

// searchQuery returns the query for the ids of a page in a search on PostgreSQL. If few rows match, the query finds them by
// their trigrams, because reading the list in its order would read most of the store's rows before the page is full. If many
// match, it reads the list in its order. Both forms are in one query, because PostgreSQL keeps one plan for all texts.
func (s *statement) searchQuery(where, limit string) string {
	const many = " AND (SELECT total FROM counted) "
	bound := strconv.Itoa(fewMatches)
	// OFFSET 0 keeps PostgreSQL from sorting before the look-up.
	few := "(SELECT id, created_at FROM " + s.table + " WHERE " + storeCondition + where + many + "<= " + bound + " OFFSET 0) few"
	return "(SELECT id FROM " + few + newestFirst + limit + ")\n  UNION ALL (" + s.indexScan("id", where+many+"> "+bound, limit) + ")"
}

// newestFirst is the end of a list's query: its ORDER BY, and LIMIT without its number, which the caller appends.
const newestFirst = "\n  ORDER BY created_at DESC, id DESC LIMIT "

// indexScan returns the query that selects the columns of a page's rows, newest first, along the list's index. where has
// conditions besides the store's; limit is the number of rows.
func (s *statement) indexScan(columns, where, limit string) string {
	return "SELECT " + columns + " FROM " + s.table + " WHERE " + storeCondition + where + newestFirst + limit
}

// page returns the query of a page along the list's index. For the first page it selects all columns. For a later page it
// selects only ids, because the index has them, so that the rows before the page are not looked up.
func (s *statement) page(where, limit string, page Page) string {
	if page.Offset > 0 {
		return s.indexScan("id", where, limit)
	}
	return s.indexScan("*", where, limit)
}

// rows returns the statement that reads a page. total is a query of the list's total, and page is a query of the page. If
// page selects only ids, byID is true, and the statement looks up the rows. The statement returns at least one row; on an
// empty page this row has only the total.
func (s *statement) rows(total, page string, byID bool) string {
	join := ") " + s.alias + " ON true"
	if byID {
		join = ") page ON true\n LEFT JOIN " + s.table + " " + s.alias + " ON " + s.alias + ".id = page.id AND " +
			s.alias + "." + storeCondition
	}
	return "SELECT total, " + s.columns + "\n FROM " + total + " LEFT JOIN (" + page + join + s.joins +
		"\n ORDER BY " + s.alias + ".created_at DESC, " + s.alias + ".id DESC" + s.order
}

// hasWholeDay reports whether there is a whole day between the times from and to of the list's filter. If there is none,
// counting the rows one by one is cheap: they are of less than two days and side by side in the index.
func (s *statement) hasWholeDay() bool {
	return s.from == nil || s.to == nil || nextDay(*s.from) < Day(*s.to)
}

// countedPage returns the statement of a list that reads the total from the counts.
func (s *statement) countedPage(page Page) string {
	pieces := "WITH pieces AS MATERIALIZED (" + s.pieces() + ")"
	const total = "(SELECT COALESCE(CAST(sum(total) AS bigint), 0) AS total FROM pieces) t"
	limit := strconv.Itoa(page.Size)
	if page.Offset == 0 {
		return pieces + "\n" + s.rows(total, s.page(s.where+s.toCondition(), limit, page), false)
	}
	offset := s.numberParameter(page.Offset)
	// The query "place" finds the piece in which the page begins. If that piece is a wide interval, the query "spot" finds the
	// day in it.
	wide := strconv.Itoa(WideDays)
	days := s.countsOf(1, ">= (SELECT day FROM place WHERE days = "+wide+")",
		"< (SELECT day + "+wide+" FROM place WHERE days = "+wide+")")
	days = "(SELECT day, 1 AS days, sum(total) AS total FROM (" + days + ") b GROUP BY day) d"
	query := pieces + `,
 place AS MATERIALIZED (` + pageStart("pieces", "days", offset) + `),
 spot AS MATERIALIZED (SELECT day, skip FROM place WHERE days < ` + wide + `
  UNION ALL SELECT day, skip FROM (` + pageStart(days, "days", "(SELECT skip FROM place)") + `) w)
`
	where := s.where + s.dialect.createdBefore(s, "(SELECT day + 1 FROM spot)")
	limit += " OFFSET COALESCE(CAST((SELECT skip FROM spot) AS bigint), 0)"
	return query + s.rows(total, s.page(where, limit, page), true)
}

// toCondition returns the condition that a row was created before s.to, or "" if s.to is nil.
func (s *statement) toCondition() string {
	if s.toParameter == "" {
		return ""
	}
	return " AND created_at < " + s.toParameter
}

// pageStart returns a query that finds where a page of a list begins. parts is a table of consecutive parts of the list, with
// the first day of each part (day), its number of rows (total), and its length in days, in the column that is named by the
// argument days. offset is the number of the row at which the page begins; the newest row has the number 0. In the result, skip
// is how many rows of the found part are newer than that row. The query returns no row if the page begins beyond the list's end.
func pageStart(parts, days, offset string) string {
	return `SELECT day, ` + days + `, ` + offset + ` - (upto - total) AS skip
  FROM (SELECT day, ` + days + `, total, sum(total) OVER (ORDER BY day DESC) AS upto FROM ` + parts + `) r
  WHERE upto > ` + offset + ` ORDER BY day DESC LIMIT 1`
}

// pieces cuts the time between s.from and s.to into pieces (see statement). It returns a query of the pieces: the first day
// of each, its number of whole days, and how many matching rows it has. It also adds to s.where that the rows are not older
// than s.from, and sets s.toParameter.
func (s *statement) pieces() string {
	var parts, wide []string
	sums := func(days int, bounds ...string) {
		parts = append(parts, "SELECT day, "+strconv.Itoa(days)+" AS days, sum(total) AS total FROM ("+s.countsOf(days, bounds...)+
			") b GROUP BY day")
	}
	rest := func(day, from, to string) {
		parts = append(parts, "SELECT "+day+" AS day, 0 AS days, count(*) AS total FROM "+s.table+" WHERE "+storeCondition+
			s.countCondition+" AND created_at >= "+from+" AND created_at < "+to)
	}
	low, high := int64(0), int64(0)
	if s.from != nil {
		low = WideStart(nextDay(*s.from) + WideDays - 1)
	}
	if s.to != nil {
		high = WideStart(Day(*s.to))
	}
	if s.from != nil && s.to != nil && low >= high {
		// No wide interval fits between from and to.
		low = Day(*s.to)
		high = low
	}
	if s.from != nil {
		from, first := s.timeParameter(*s.from), s.numberParameter(nextDay(*s.from))
		firstWide := s.numberParameter(low)
		rest(first+" - 1", from, s.timeParameter(DayStart(nextDay(*s.from))))
		sums(1, ">= "+first, "< "+firstWide)
		wide = append(wide, ">= "+firstWide)
		s.where += " AND created_at >= " + from
	}
	if s.to != nil {
		to, last := s.timeParameter(*s.to), s.numberParameter(Day(*s.to))
		lastWide := s.numberParameter(high)
		sums(1, ">= "+lastWide, "< "+last)
		rest(last, s.timeParameter(DayStart(Day(*s.to))), to)
		wide = append(wide, "< "+lastWide)
		s.toParameter = to
	}
	sums(WideDays, wide...)
	return strings.Join(parts, "\n  UNION ALL ")
}

// countsOf returns a query of the stored counts that match the filter. Each is the count of one interval of days; days is the
// length of the intervals, 1 or WideDays. bounds are conditions on an interval's first day. On PostgreSQL it also returns the row
// deltas that are not folded yet.
func (s *statement) countsOf(days int, bounds ...string) string {
	within := func(first string) string {
		text := ""
		for _, bound := range bounds {
			text += " AND " + first + " " + bound
		}
		return text
	}
	condition := storeCondition + " AND kind = '" + s.table + "'" + s.countCondition
	text := "SELECT first_day AS day, total FROM row_counts WHERE " + condition +
		" AND days = " + strconv.Itoa(days) + within("first_day")
	if s.dialect.deltas {
		first := "day"
		if days == WideDays {
			first = "(day & -" + strconv.Itoa(WideDays) + ")"
		}
		text += " UNION ALL SELECT " + first + ", change FROM row_deltas WHERE " + condition + within(first)
	}
	return text
}
