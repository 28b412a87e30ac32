package auth

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// subject is a key with its store, in a form that both databases can return: thirteen texts in one
// column, separated by a character that none of them contains. Separate columns would need a scan
// for each database, and JSON takes three times as long to read.
type subject struct {
	principal        Principal
	expires, revoked int64 // Unix milliseconds; 0 for never
}

const (
	subjectParts     = 13
	subjectSeparator = "\x1f"
)

func readSubject(text string) (subject, error) {
	var (
		s     subject
		parts [subjectParts]string
		errs  [7]error
	)
	rest, found := text, true
	for i := range parts {
		if !found {
			return s, errors.New("it has too few parts")
		}
		parts[i], rest, found = strings.Cut(rest, subjectSeparator)
	}
	if found {
		return s, errors.New("it has too many parts")
	}
	p := &s.principal
	p.KeyName = parts[1]
	p.KeyID, errs[0] = uuid.Parse(parts[0])
	p.Scopes, errs[1] = readList(parts[2])
	s.expires, errs[2] = readMoment(parts[3])
	s.revoked, errs[3] = readMoment(parts[4])
	p.Store.ID, errs[4] = uuid.Parse(parts[5])
	p.Store.Slug, p.Store.Currency, p.Store.Country, p.Store.Status = parts[6], parts[7], parts[8], parts[9]
	p.Store.PaymentLinksOpen = parts[10] == "t"
	p.Store.UnavailableTypes, errs[5] = readList(parts[11])
	p.Store.PlatformFeePercent, errs[6] = strconv.ParseFloat(parts[12], 64)
	return s, errors.Join(errs[:]...)
}

func readMoment(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// readList reads a JSON array of plain words, such as scopes.
func readList(text string) ([]string, error) {
	inner, open := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !open || !closed || strings.Contains(inner, `\`) {
		var list []string
		return list, json.Unmarshal([]byte(text), &list)
	}
	if inner = strings.TrimSpace(inner); inner == "" {
		return nil, nil
	}
	list := make([]string, 0, strings.Count(inner, ",")+1)
	for word := range strings.SplitSeq(inner, ",") {
		list = append(list, strings.Trim(word, ` "`))
	}
	return list, nil
}
