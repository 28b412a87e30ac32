package dashboard

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Strangers without a session, however many, and the members of one store leave slots to others, and whoever cannot be
// served is answered at once.
func TestNobodyTakesAllOfTheDashboard(t *testing.T) {
	t.Parallel()
	const slots = 6
	d := &dashboard{Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now, Unreachable: func(error) bool { return false }}, newDoor(slots)}
	begun, end := make(chan string, 2*waitingPlaces), make(chan struct{})
	stores := map[string]uuid.UUID{"a": uuid.New(), "b": uuid.New()}
	pages := d.identified(d.bounded(func(w http.ResponseWriter, r *http.Request, p *place) {
		session := presented(r, true)
		if store, member := stores[session]; member {
			if err := p.learn(r, session, store); err != nil {
				d.turnAway(w, r, err)
				return
			}
		}
		begun <- session
		<-end
	}))
	var all sync.WaitGroup
	ask := func(session, method, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, Path+"/deliveries", strings.NewReader(body))
		if session != "" {
			r.AddCookie(&http.Cookie{Name: secureCookie, Value: session})
		}
		a := httptest.NewRecorder()
		pages.ServeHTTP(a, r)
		return a
	}
	flood := func(session string, n int) {
		for range n {
			all.Go(func() { ask(session, http.MethodGet, "") })
		}
	}
	flood("made-up", slots/2+waitingPlaces/2)
	for range slots / 2 {
		require.Equal(t, "made-up", <-begun)
	}
	require.Eventually(t, func() bool { return d.door.limiter.Load().Waiting == waitingPlaces/2 }, time.Minute, time.Millisecond)
	turned := ask("another", http.MethodGet, "")
	require.Equal(t, http.StatusServiceUnavailable, turned.Code, "strangers share what one store may have")
	require.Contains(t, turned.Body.String(), "The dashboard is busy")
	require.Equal(t, http.StatusServiceUnavailable, ask("another", http.MethodPost, "csrf=x").Code)

	// A member whom the door knows needs no place among the strangers.
	for session, store := range stores {
		p := &place{door: d.door}
		require.NoError(t, p.learn(httptest.NewRequest(http.MethodGet, Path, nil), session, store))
		p.leave()
	}
	flood("a", slots/2-1)
	for range slots/2 - 1 {
		require.Equal(t, "a", <-begun)
	}
	flood("b", 1)
	require.Equal(t, "b", <-begun)
	require.Equal(t, slots, d.door.limiter.Load().Running)
	close(end)
	all.Wait()
	require.Zero(t, d.door.limiter.Load().Running, "every slot is given back")
}
