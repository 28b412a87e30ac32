// Package id makes the ids of rows whose time counts: UUIDs of version 7 (RFC 9562, section 5.7),
// which sort by the millisecond of their making. It takes the time from its caller, so that a
// row's id agrees with the store's clock.
package id

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// At returns a new id of the millisecond of t. Times before 1970 count as 1970. Goroutines may
// call it at once.
func At(t time.Time) uuid.UUID {
	made := uuid.Must(uuid.NewV7())
	put(&made, t)
	return made
}

// Floor returns the lowest id of the millisecond of t, and so the bound between ids made before t
// and ids made from t on. It belongs to no row.
func Floor(t time.Time) uuid.UUID {
	var floor uuid.UUID
	put(&floor, t)
	return floor
}

// Time is the millisecond that an id was made in, in UTC.
func Time(made uuid.UUID) time.Time {
	var ms [8]byte
	copy(ms[2:], made[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC()
}

// put writes the 48 bits of the time.
func put(made *uuid.UUID, t time.Time) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(0, t.UnixMilli())))
	copy(made[:6], ms[2:])
}
