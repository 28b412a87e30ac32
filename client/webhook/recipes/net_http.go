//go:build ignore

// A receiver of webhooks with the standard library alone.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"go.storefront.example/client/webhook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func receive(w http.ResponseWriter, r *http.Request) {
	event, err := webhook.Read(r, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		fmt.Println(err) // which mistake was made
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent) // answer first, then do the work
	if customer, ok := event.Data.(*storefrontv1.Customer); ok {
		fmt.Println("new:", customer.GetName(), customer.GetPhone())
	}
}

func main() {
	http.HandleFunc("POST /webhooks", receive)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
