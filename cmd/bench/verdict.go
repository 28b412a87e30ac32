package main

import (
	"encoding/json"
	"fmt"
)

// verdict is what an answer is worth to whoever asked under a fault.
type verdict int

const (
	// served is a success.
	served verdict = iota
	// refused is the service's own 503: its error body, with the code unavailable, and Retry-After.
	refused
	// limited is its own 429.
	limited
	// wrong is everything else: another status, another body, no answer.
	wrong
)

// judge judges an answer; for one that is no success it returns what it is.
func judge(status int, body []byte, retryAfter bool) (verdict, string) {
	if status >= 200 && status <= 299 {
		return served, ""
	}
	var refusal struct {
		StatusCode int    `json:"statusCode"`
		Code       string `json:"code"`
		RequestID  string `json:"requestId"`
	}
	if json.Unmarshal(body, &refusal) != nil || refusal.StatusCode != status || refusal.Code == "" || refusal.RequestID == "" {
		return wrong, fmt.Sprintf("%d without our body", status)
	}
	what := fmt.Sprintf("%d %s", status, refusal.Code)
	own := map[string]verdict{"503 unavailable": refused, "429 rate_limited": limited}
	v, is := own[what]
	switch {
	case !is:
		return wrong, what
	case !retryAfter:
		return wrong, what + " without Retry-After"
	}
	return v, what
}
