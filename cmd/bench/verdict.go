package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
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

// judge judges an answer; for one that is wrong it returns what it is.
func judge(status int, body []byte, retryAfter bool, err error) (verdict, string) {
	if err != nil {
		return wrong, noAnswer(err)
	}
	if status >= 200 && status <= 299 {
		return served, ""
	}
	var said struct {
		StatusCode int    `json:"statusCode"`
		Code       string `json:"code"`
		RequestID  string `json:"requestId"`
	}
	if json.Unmarshal(body, &said) != nil || said.StatusCode != status || said.Code == "" || said.RequestID == "" {
		return wrong, fmt.Sprintf("%d without our body", status)
	}
	ours := status == 503 && said.Code == "unavailable"
	over := status == 429 && said.Code == "rate_limited"
	switch {
	case (ours || over) && !retryAfter:
		return wrong, fmt.Sprintf("%d %s without Retry-After", status, said.Code)
	case ours:
		return refused, ""
	case over:
		return limited, ""
	}
	return wrong, fmt.Sprintf("%d %s", status, said.Code)
}

// givenUp is what there was when the patience of whoever asked ended first.
const givenUp = "no answer in time"

// noAnswer is why there was none, without addresses, so that equal cases are equal.
func noAnswer(err error) string {
	var failed *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return givenUp
	case errors.As(err, &failed):
		return "no answer: " + failed.Op + ": " + failed.Err.Error()
	}
	return "no answer: " + strings.TrimPrefix(err.Error(), "read the answer: ")
}
