// Command clients drives a server through client-go, as controllers written in Go do.
//
// Usage: clients KUBECONFIG SCENARIO. It ends with 0 when everything was as the scenario expects, and says
// what was not.
package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

const timeLimit = 50 * time.Second

var scenarios = map[string]func(context.Context, *world) error{
	"typed":    typed,
	"informer": informer,
	"leader":   leader,
	"metadata": metadataInformer,
	"pager":    pages,
	"retry":    retryWatch,
	"apply":    serverSideApply,
	"openapi":  openAPI,
	"manager":  manager,
}

func main() {
	if len(os.Args) != 3 || scenarios[os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: clients KUBECONFIG SCENARIO")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	w, err := open(ctx, os.Args[1])
	if err == nil {
		err = scenarios[os.Args[2]](ctx, w)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
	fmt.Println("ok")
}
