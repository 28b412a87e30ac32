// A receiver of webhooks with the standard library alone.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"go.storefront.example/client"
	"go.storefront.example/client/webhook"
)

func receive(w http.ResponseWriter, r *http.Request) {
	event, err := webhook.Read(r, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		fmt.Println(err) // says why, for example that the secret is wrong
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent) // answer first, then do the work
	switch data := event.Data.(type) {
	case *client.Order:
		fmt.Println(event.Type, data.GetReference(), data.GetAmount(), data.GetCurrency())
	case *client.Customer:
		fmt.Println("new:", data.GetName(), data.GetPhone())
	}
}

func main() {
	// Before the first delivery: a signal that nobody waits for ends the program at once.
	stopped, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	http.HandleFunc("POST /webhooks", receive)
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s/webhooks\n", listener.Addr())
	server := &http.Server{}
	go server.Serve(listener)

	<-stopped.Done()
	server.Shutdown(context.Background()) // deliveries that have begun are answered first
}
