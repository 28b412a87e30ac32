package queue

import "github.com/google/uuid"

// mark is what the outcomes of one webhook mean for its health: whether there was a success, and whether a failure
// that counts came after the last one.
type mark struct {
	ID        uuid.UUID `json:"id"`
	Succeeded bool      `json:"succeeded"`
	Failed    bool      `json:"failed"`
}

// marksOf goes by the order of the outcomes.
func marksOf(outcomes []Outcome) []mark {
	var marks []mark
	at := map[uuid.UUID]int{}
	for _, o := range outcomes {
		succeeded := o.Status == Succeeded
		if o.Attempt == nil || !succeeded && (!o.Counts || o.Status == Cancelled) {
			continue
		}
		i, known := at[o.Delivery.WebhookID]
		if !known {
			i = len(marks)
			at[o.Delivery.WebhookID] = i
			marks = append(marks, mark{ID: o.Delivery.WebhookID})
		}
		marks[i].Succeeded, marks[i].Failed = marks[i].Succeeded || succeeded, !succeeded
	}
	return marks
}
