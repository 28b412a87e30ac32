// Package id makes ids that sort by time: UUIDs of version 7 (RFC 9562, section 5.7), which sort by the millisecond of their
// creation. The caller passes the time, so that a row's id agrees with the database's clock.
package id

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// counter orders the ids of one process in one millisecond (RFC 9562, section 6.2, method 1). It starts at random in the lower
// half of its range, so that two processes have different numbers.
var counter atomic.Uint32

const counterBits = 26

func init() { counter.Store(rand.Uint32N(1 << (counterBits - 1))) }

// At returns a new id for the millisecond of t. Later ids of a process in one millisecond sort after earlier ones, unless the
// counter of 26 bits starts again (once in 67 million ids). Times before 1970 count as 1970. Goroutines may call it at once.
func At(t time.Time) uuid.UUID {
	id := uuid.New()
	putTime(&id, t)
	n := counter.Add(1)
	// The upper 12 bits of the counter follow the version, and the lower 14 bits the variant. The last 48 bits stay random.
	binary.BigEndian.PutUint16(id[6:], 7<<12|uint16(n>>14&0xfff))
	binary.BigEndian.PutUint16(id[8:], 1<<15|uint16(n&0x3fff))
	return id
}

// Derive depends only on first and second. It sorts like first, which must come from At.
func Derive(first, second uuid.UUID) uuid.UUID {
	id := first
	sum := sha256.Sum256(append(first[:], second[:]...))
	copy(id[10:], sum[:])
	return id
}

// Floor returns the lowest possible id of the millisecond of t, which At never returns. Ids of earlier milliseconds are lower.
func Floor(t time.Time) uuid.UUID {
	var floor uuid.UUID
	putTime(&floor, t)
	return floor
}

// Time returns the time of an id: whole milliseconds, in UTC.
func Time(id uuid.UUID) time.Time {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC()
}

// IsReserved reports whether no row from outside may have the id: zero is for what belongs to no store, and all ones for the
// operator. Other UUIDs of any version are accepted, because other shops, such as those on SQL Server, have versions that RFC
// 9562 does not define. CHECK constraints of the tables repeat the rule.
func IsReserved(id uuid.UUID) bool { return id == uuid.Nil || id == uuid.Max }

func putTime(id *uuid.UUID, t time.Time) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(0, t.UnixMilli())))
	copy(id[:6], ms[2:])
}
