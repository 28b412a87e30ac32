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
	"sync"
	"syscall"

	"go.storefront.example/client"
	"go.storefront.example/client/webhook"
)

// stored stands for a table of your database, which outlives the program.
var stored = make(chan *webhook.Event, 1000)

func receive(w http.ResponseWriter, r *http.Request) {
	event, err := webhook.Read(r, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		fmt.Println(err) // says why, for example that the secret is wrong
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stored <- event                     // store the event first,
	w.WriteHeader(http.StatusNoContent) // then answer 2xx, then work
}

// work handles the stored events, and each order once: two events report the payment of a link, and any event may come again.
func work() {
	shipped := map[string]bool{} // stands for a table whose key is the order's id
	for event := range stored {
		switch data := event.Data.(type) {
		case *client.Order:
			paid := event.Type == webhook.OrderPaid || event.Type == webhook.PaymentLinkPaid
			if paid && !shipped[data.GetId()] {
				shipped[data.GetId()] = true
				fmt.Println("paid:", data.GetReference(), data.GetAmount(), data.GetCurrency())
			}
		case *client.Customer:
			fmt.Println("new:", data.GetName(), data.GetPhone())
		}
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
	var worker sync.WaitGroup
	worker.Go(work)

	<-stopped.Done()
	server.Shutdown(context.Background()) // deliveries that have begun are answered first
	close(stored)
	worker.Wait()
}
