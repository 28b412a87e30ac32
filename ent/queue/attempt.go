package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"go.storefront.example/ent/apijson"
)

// Attempt is one attempt of a delivery, as the delivery journal shows it.
type Attempt struct {
	// Number counts from 1; the header Service-Delivery-Attempt carries it.
	Number int
	// StartedAt is in UTC and whole milliseconds.
	StartedAt time.Time
	// Duration ends with the headers of the answer, or with the error; in whole milliseconds.
	Duration time.Duration
	// StatusCode is the status of the receiver's answer, or 0 if there was none.
	StatusCode int
	// Error is why the attempt failed, in a few words; empty if it succeeded. It never contains an address, a URL or a secret.
	Error string
	// Answer is the beginning of a failure's body, as text.
	Answer string
}

// Succeeded reports whether the attempt delivered its event.
func (a Attempt) Succeeded() bool { return a.Error == "" }

// attemptJSON is what the database stores and the admin API returns.
type attemptJSON struct {
	Number     int             `json:"number"`
	StartedAt  json.RawMessage `json:"startedAt"`
	DurationMs int64           `json:"durationMs"`
	StatusCode *int            `json:"statusCode"`
	Error      *string         `json:"error"`
	Answer     string          `json:"answer,omitempty"`
}

// MarshalJSON writes null for a missing status or error, and leaves an empty answer out.
func (a Attempt) MarshalJSON() ([]byte, error) {
	j := attemptJSON{
		Number: a.Number, DurationMs: a.Duration.Milliseconds(), Answer: a.Answer, StartedAt: apijson.AppendTime(nil, a.StartedAt),
	}
	if a.StatusCode != 0 {
		j.StatusCode = &a.StatusCode
	}
	if a.Error != "" {
		j.Error = &a.Error
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Attempt) UnmarshalJSON(text []byte) error {
	var j attemptJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	var at time.Time
	if err := json.Unmarshal(j.StartedAt, &at); err != nil {
		return err
	}
	*a = Attempt{Number: j.Number, StartedAt: at.UTC(), Duration: time.Duration(j.DurationMs) * time.Millisecond, Answer: j.Answer}
	if j.StatusCode != nil {
		a.StatusCode = *j.StatusCode
	}
	if j.Error != nil {
		a.Error = *j.Error
	}
	return nil
}

// Attempts decodes the column attempts, the oldest attempt first.
func Attempts(column []byte) ([]Attempt, error) {
	var attempts []Attempt
	if err := json.Unmarshal(column, &attempts); err != nil {
		return nil, fmt.Errorf("read a delivery's attempts: %w", err)
	}
	return attempts, nil
}

const noAttempts = "[]"

// appendAttempt adds a to column, the JSON of the earlier attempts.
func appendAttempt(column []byte, a Attempt) ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	if len(column) <= len(noAttempts) {
		column = []byte("[")
	} else {
		column = append(append([]byte(nil), column[:len(column)-1]...), ',')
	}
	return append(append(column, text...), ']'), nil
}
