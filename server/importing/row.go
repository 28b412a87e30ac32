package importing

import (
	"github.com/google/uuid"
)

// owners maps each existing row with an id of the batch to its store.
type owners map[uuid.UUID]uuid.UUID

// fresh leaves out the lines whose row the store has already, and those that repeat an earlier
// line's id. It refuses an id, by the name of its field, that belongs to another store.
func fresh[R any](lines []importLine[R], field string, idOf func(*R) uuid.UUID, known owners, store uuid.UUID) ([]importLine[R], error) {
	var left []importLine[R]
	for _, l := range lines {
		id := idOf(&l.row)
		switch owner, there := known[id]; {
		case there && owner != store:
			return nil, l.refuse(field, "belongs to another store")
		case !there:
			known[id] = store
			left = append(left, l)
		}
	}
	return left, nil
}

// idsOf returns the ids of the lines' rows.
func idsOf[R any](lines []importLine[R], idOf func(*R) uuid.UUID) []uuid.UUID {
	ids := make([]uuid.UUID, len(lines))
	for i := range lines {
		ids[i] = idOf(&lines[i].row)
	}
	return ids
}
