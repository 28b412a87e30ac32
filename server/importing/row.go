package importing

import "github.com/google/uuid"

// row is a row of a batch that was read, with its place in the batch.
type row[R any] struct {
	index int
	row   R
}

// owners maps each existing row with an id of the batch to its store.
type owners map[uuid.UUID]uuid.UUID

// split returns the rows that are new, without those that repeat an earlier row's id, and those that the store
// has. It refuses an id that another store has; field is the id's name in the refusal.
func split[R any](b *batch, rows []row[R], field string, idOf func(*R) uuid.UUID, known owners) (fresh, there []row[R]) {
	mine := owners{}
	for _, l := range rows {
		id := idOf(&l.row)
		owner, has := known[id]
		_, again := mine[id]
		mine[id] = b.t.ID
		switch {
		case again:
		case has && owner != b.t.ID:
			b.refuse(l.index, field, "belongs to another store")
		case has:
			there = append(there, l)
		default:
			known[id] = b.t.ID
			fresh = append(fresh, l)
		}
	}
	return fresh, there
}

// held takes the rows out of fresh ones of which an existing row has a text, with that row's id.
func held[R any](rows []row[R], used map[string]uuid.UUID, textOf func(*R) string, setID func(*R, uuid.UUID)) (
	fresh, there []row[R]) {
	for _, l := range rows {
		if id, has := used[textOf(&l.row)]; has {
			setID(&l.row, id)
			there = append(there, l)
		} else {
			fresh = append(fresh, l)
		}
	}
	return fresh, there
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
