package importfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // because Windows and the image have no time zones
	"unicode"
)

type dates struct {
	// layout is --date-format as a layout of time.Parse, with fixed widths, or empty.
	layout string
	// order is layout's part with day, month and year. With separators, day and month may have one digit.
	order      string
	clockFirst bool
	// zone is that of dates that name none: UTC unless --time-zone names another.
	zone *time.Location
}

type date struct {
	at       time.Time
	dateOnly bool
	zoned    bool
	// repeatedHour is true if clocks were set back and showed the time twice. at is then the earlier.
	repeatedHour bool
}

var tokens = strings.NewReplacer("YYYY", "2006", "YY", "06", "MMMM", "January", "MMM", "Jan", "MM", "01", "DD", "02", "M", "1",
	"D", "2", "HH", "15", "H", "15", "hh", "03", "h", "3", "mm", "04", "ss", "05", "A", "PM", "a", "PM")

var (
	knownFormat = regexp.MustCompile(`^[YMDHhmsAa \t/.,:T-]+$`)
	timeTokens  = regexp.MustCompile(`[HhmsAa][HhmsAa :.]*`)
	// unseparated finds two parts without a separator, as in YYYYMMDD.
	unseparated = regexp.MustCompile(`YM|MY|MD|DM|YD|DY`)
)

// datesOf takes a form such as DD/MM/YYYY or DD.MM.YYYY HH:mm and a zone such as Europe/Paris.
func datesOf(format, zone string) (dates, error) {
	d := dates{layout: tokens.Replace(format), zone: time.UTC}
	if format != "" && (!knownFormat.MatchString(format) || !strings.Contains(format, "YY") || !strings.Contains(format, "M") ||
		!strings.Contains(format, "D")) {
		return d, fmt.Errorf("%w: --date-format %s: must be of YYYY or YY, MM and DD, such as DD/MM/YYYY or MM/DD/YYYY HH:mm",
			ErrOptions, format)
	}
	if at := timeTokens.FindStringIndex(format); at != nil {
		d.clockFirst = at[0] == 0
		format = format[:at[0]] + format[at[1]:]
	}
	d.order = tokens.Replace(strings.Trim(format, " \t,T"))
	if !unseparated.MatchString(format) {
		d.order = strings.NewReplacer("01", "1", "02", "2").Replace(d.order)
	}
	if zone == "" {
		return d, nil
	}
	var err error
	if d.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
		return d, fmt.Errorf("%w: --time-zone %s: must be a name of the time zone database, such as Europe/Paris or UTC", ErrOptions,
			zone)
	}
	return d, nil
}

// clock matches a time of day, with or without seconds, AM or PM, and a zone. Of zones' abbreviations only UTC has one meaning.
const clock = `(\d{1,2})[:.h](\d{2})(?:[:.](\d{2})(?:[.,](\d{1,9}))?)?(?: ?([ap])\.? ?m\.?)?` +
	`(?: ?(Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?)(?: UTC)?)?`

var (
	clockBehind = regexp.MustCompile(`(?i)^(.*?)(?:,? |,|T)` + clock + `$`)
	clockBefore = regexp.MustCompile(`(?i)^` + clock + `,? (.*)$`)
)

// clockOf takes the groups that clock has found. The zone is nil if the text names none.
func clockOf(match []string) (time.Duration, *time.Location, error) {
	hour, _ := strconv.Atoi(match[0])
	minute, _ := strconv.Atoi(match[1])
	second, _ := strconv.Atoi(match[2])
	nanos, _ := strconv.Atoi((match[3] + "000000000")[:9])
	switch half := strings.ToLower(match[4]); {
	case half != "" && hour > 12, hour > 23, minute > 59, second > 59:
		return 0, nil, errDate
	case half == "a" && hour == 12:
		hour = 0
	case half == "p" && hour < 12:
		hour += 12
	}
	timeOfDay := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(nanos)
	zone := strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(match[5]), "UTC"), "GMT")
	switch {
	case match[5] == "":
		return timeOfDay, nil, nil
	case zone == "" || zone == "Z":
		return timeOfDay, time.UTC, nil
	}
	digits := strings.ReplaceAll(zone[1:], ":", "") + "00"
	hours, _ := strconv.Atoi(digits[:2])
	minutes, _ := strconv.Atoi(digits[2:4])
	offset := hours*3600 + minutes*60
	if hours > 15 || minutes > 59 {
		return 0, nil, errDate
	}
	if zone[0] == '-' {
		offset = -offset
	}
	return timeOfDay, time.FixedZone(zone, offset), nil
}

var errDate = errors.New("must be a date such as 2026-01-31, 31.01.2026 or 2026-01-31 15:04:05 +0100")

// tidy makes white space one space, and drops the invisible marks that browsers add to dates.
func tidy(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)), " ")
}

// parse reads 21/11/2026 without --date-format, but refuses 01/02/2026 and names the formats for it. A nil zone means the
// file's.
func (d dates) parse(text string, zone *time.Location) (date, error) {
	wall, named, dateOnly, err := d.split(tidy(text))
	if err != nil {
		return date{}, err
	}
	found := date{dateOnly: dateOnly, zoned: named != nil || zone != nil}
	switch {
	case named != nil:
		found.at = inZone(wall, named)[0]
		return found, nil
	case zone == nil:
		zone = d.zone
	}
	times := inZone(wall, zone)
	switch {
	case len(times) == 0 && dateOnly: // the day began at 1:00, because clocks were set forward at midnight
		times = inZone(wall.Add(time.Hour), zone)
		if len(times) == 0 {
			return found, errDate
		}
	case len(times) == 0:
		return found, fmt.Errorf("is a time that %s did not have that day, because clocks were set forward", zone)
	}
	found.at, found.repeatedHour = times[0], len(times) > 1 && !dateOnly
	return found, nil
}

// inZone returns when clocks in a zone show wall: never if they were set forward past it, twice if they were set back.
func inZone(wall time.Time, zone *time.Location) (times []time.Time) {
	// Near a change of the clocks, the offset differs a day before and after wall. Try both.
	const day = 24 * time.Hour
	for _, near := range []time.Duration{-day, day} {
		_, offset := wall.Add(near).In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, actual := at.In(zone).Zone(); actual == offset && !slices.ContainsFunc(times, at.Equal) {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// split returns what the text shows as a time in UTC, and the zone that it names, or nil.
func (d dates) split(text string) (wall time.Time, zone *time.Location, dateOnly bool, err error) {
	if d.layout != "" {
		if at, err := time.Parse(d.layout, text); err == nil {
			return at, nil, !strings.Contains(d.layout, "04"), nil
		}
	}
	day, timeOfDay := text, time.Duration(0)
	if match := clockBehind.FindStringSubmatch(text); match != nil && !d.clockFirst {
		day = match[1]
		timeOfDay, zone, err = clockOf(match[2:])
	} else if match := clockBefore.FindStringSubmatch(text); match != nil && d.clockFirst {
		day = match[len(match)-1]
		timeOfDay, zone, err = clockOf(match[1:])
	} else {
		dateOnly = true
	}
	if err != nil {
		return wall, nil, false, err
	}
	if wall, err = d.day(day); errors.Is(err, errAmbiguous) {
		err = d.ambiguityError(text)
	}
	return wall.Add(timeOfDay), zone, dateOnly, err
}

var (
	yearFirst = regexp.MustCompile(`^\d{4}([/.-])\d{1,2}([/.-])\d{1,2}$`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})([/.-])(\d{1,2})([/.-])(\d{2}|\d{4})$`)
	// --date-format decides only the order of day, month and year, not the separators.
	oneSeparator = strings.NewReplacer(".", "/", "-", "/")
	// errAmbiguous means that only --date-format can tell day, month and two-digit year apart.
	errAmbiguous = errors.New("is open")
)

func (d dates) day(text string) (time.Time, error) {
	if d.order != "" {
		if at, err := time.Parse(oneSeparator.Replace(d.order), oneSeparator.Replace(text)); err == nil {
			return at, nil
		}
	}
	first, last := yearFirst.FindStringSubmatch(text), yearLast.FindStringSubmatch(text)
	var layout string
	switch {
	// Such a text is year, month, day, unless --date-format begins with the year, and may have the day second.
	case first != nil && first[1] == first[2] && !strings.HasPrefix(d.order, "2006"):
		layout = "2006" + first[1] + "1" + first[1] + "2"
	case d.order != "":
		return time.Time{}, errors.New("must be a date as --date-format says")
	case last == nil || last[2] != last[4]:
		return time.Time{}, errDate
	case len(last[5]) == 2:
		return time.Time{}, errAmbiguous
	default:
		a, _ := strconv.Atoi(last[1])
		b, _ := strconv.Atoi(last[3])
		switch {
		case last[2] == "." || a > 12 || a == b:
			layout = "2" + last[2] + "1" + last[2] + "2006"
		case b > 12:
			layout = "1" + last[2] + "2" + last[2] + "2006"
		default:
			return time.Time{}, errAmbiguous
		}
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		return at, errDate
	}
	return at, nil
}

// ambiguityError lists the values of --date-format that would read the text.
func (d dates) ambiguityError(text string) error {
	separator := text[strings.IndexAny(text, "/.-"):][:1]
	var forms []string
	for _, form := range []string{"DD/MM/YYYY", "MM/DD/YYYY", "DD/MM/YY", "MM/DD/YY", "YY/MM/DD"} {
		form = strings.ReplaceAll(form, "/", separator)
		named, _ := datesOf(form, "")
		if _, _, _, err := named.split(text); err == nil {
			forms = append(forms, form)
		}
	}
	ways := "two"
	switch len(forms) {
	case 0:
		return errDate
	case 1:
		return errors.New("has a year of two digits: say how it is read with --date-format " + forms[0])
	case 3:
		ways = "three"
	}
	return fmt.Errorf("can be read in %s ways: say which with --date-format %s", ways, strings.Join(forms, " or "))
}
