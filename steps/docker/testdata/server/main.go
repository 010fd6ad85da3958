// Command server is what the tests run in containers: it says hello on both outputs,
// answers with its environment, and ends as its arguments say.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	address := flag.String("address", "", "listen here; do not listen if empty")
	lines := flag.Int("lines", 0, "number of lines to print on each output")
	exit := flag.Int("exit", -1, "end at once with this status")
	deaf := flag.Bool("deaf", false, "ignore SIGTERM")
	flag.Parse()
	fmt.Println("first byte")
	for i := range *lines {
		fmt.Printf("out %d\n", i)
		fmt.Fprintf(os.Stderr, "err %d\n", i)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if *exit >= 0 {
		fmt.Println("last byte")
		os.Exit(*exit)
	}
	if *address != "" {
		go serve(*address)
	}
	for s := range signals {
		fmt.Printf("got %s\n", s)
		if !*deaf {
			fmt.Println("last byte")
			os.Exit(0)
		}
	}
}

func serve(address string) {
	err := http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(os.Environ(), "\n"))
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
