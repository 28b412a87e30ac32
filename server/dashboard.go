package server

import (
	"net/http"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/message"
	"go.storefront.example/server/operator"
	"go.storefront.example/server/route"
)

// formTime is how long a form may take to arrive: anyone may send that of the sign-in.
const formTime = time.Second

// HasDashboard reports whether the operator's listener serves the dashboard: it does if the
// operator's side is on.
func (s *Server) HasDashboard() bool { return s.operator != nil }

// dashboardMounts returns the stores' dashboard, which authenticates members by itself.
func (s *Server) dashboardMounts() []mount {
	pages := dashboard.New(dashboard.Config{
		Operator: operator.New(s.config.DB, s.config.Options), Now: s.config.DB.Now, Unreachable: db.IsUnreachable, Logger: s.config.Logger,
		Slots: s.slots, Platform: s.config.Platform,
	})
	timed := s.timed(pages)
	prompt := route.List(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer message.Prompt(w, r, formTime)()
		timed.ServeHTTP(w, r)
	}), pages.(route.Lister).Patterns())
	return []mount{{dashboard.Path, prompt}, {dashboard.Path + "/", prompt}}
}
