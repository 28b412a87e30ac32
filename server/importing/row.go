package importing

import "github.com/google/uuid"

// row is a row of a batch that was read, with its place in the batch.
type row[R any] struct {
	index int
	row   R
}

// owners maps each existing row with an id of the batch to its store.
type owners map[uuid.UUID]uuid.UUID

// fresh returns the rows without those that the store has and those that repeat an earlier row's id. It
// refuses an id that another store has; field is the id's name in the refusal.
func fresh[R any](b *batch, rows []row[R], field string, idOf func(*R) uuid.UUID, known owners) []row[R] {
	var left []row[R]
	for _, l := range rows {
		id := idOf(&l.row)
		switch owner, there := known[id]; {
		case there && owner != b.t.ID:
			b.refuse(l.index, field, "belongs to another store")
		case !there:
			known[id] = b.t.ID
			left = append(left, l)
		}
	}
	return left
}

// idsOf returns the ids of the rows.
func idsOf[R any](rows []row[R], idOf func(*R) uuid.UUID) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = idOf(&rows[i].row)
	}
	return ids
}

// refuseTaken refuses each row whose text is that of an existing row or of an earlier one of the batch.
func refuseTaken[R any](b *batch, rows []row[R], field, message string, used map[string]uuid.UUID, textOf func(*R) string) {
	taken := make(map[string]bool, len(used)+len(rows))
	for text := range used {
		taken[text] = true
	}
	for _, l := range rows {
		text := textOf(&l.row)
		if taken[text] {
			b.refuse(l.index, field, message)
		}
		taken[text] = true
	}
}
