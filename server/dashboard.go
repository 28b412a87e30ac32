package server

import (
	"net/http"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/message"
	"go.storefront.example/server/operator"
	"go.storefront.example/server/route"
	"go.storefront.example/server/service"
)

// formTime is how long a form may take to arrive: that of the sign-in is read of anybody.
const formTime = time.Second

// HasDashboard tells whether the operator's listener serves the dashboard: it does when the
// operator's side is on.
func (s *Server) HasDashboard() bool { return s.operator != nil }

// dashboardMounts is the stores' dashboard, which lets members in by itself.
func (s *Server) dashboardMounts() []mount {
	rules := service.New(s.config.Store, s.config.Shop)
	pages := dashboard.New(dashboard.Config{
		Operator: operator.New(s.config.Store, rules), Now: s.config.Store.Now, Unreachable: db.IsUnreachable, Logger: s.config.Logger,
	})
	timed := s.timed(pages)
	prompt := route.List(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer message.Prompt(w, r, formTime)()
		timed.ServeHTTP(w, r)
	}), pages.(route.Lister).Patterns())
	return []mount{{dashboard.Path, prompt}, {dashboard.Path + "/", prompt}}
}
