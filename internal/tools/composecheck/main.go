// Command composecheck loads a compose file as docker compose does: it checks
// the schema of the compose specification, interpolation and the references
// between services, and prints each service's command.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: composecheck FILE")
		os.Exit(2)
	}
	opts, err := cli.NewProjectOptions([]string{os.Args[1]}, cli.WithProfiles([]string{"*"}))
	if err != nil {
		fail(err)
	}
	project, err := opts.LoadProject(context.Background())
	if err != nil {
		fail(err)
	}
	for _, name := range project.ServiceNames() {
		s := project.Services[name]
		fmt.Println(name, s.Entrypoint, s.Command)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, os.Args[1]+":", err)
	os.Exit(1)
}
