// Checks histories with porcupine, a general checker of linearizability. Reads one history per line from standard input:
// packages/server/test/chaos/order/porcupine.ts describes the format. Prints one result per line: Ok, Illegal, or Unknown after the time limit.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

const timeLimit = 20 * time.Second

type history struct {
	// Steps[i][s] are the states after step i in state s. State 0 is the first state.
	Steps []map[int][]int `json:"steps"`
	// Each operation has a beginning, an end and the number of its step.
	Operations [][3]int64 `json:"operations"`
}

func main() {
	decoder := json.NewDecoder(bufio.NewReader(os.Stdin))
	for decoder.More() {
		var next history
		if err := decoder.Decode(&next); err != nil {
			log.Fatal(err)
		}
		fmt.Println(check(next))
	}
}

func check(given history) porcupine.CheckResult {
	model := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{0} },
		Step: func(state, input, _ interface{}) []interface{} {
			var after []interface{}
			for _, each := range given.Steps[input.(int64)][state.(int)] {
				after = append(after, each)
			}
			return after
		},
		Equal: func(one, other interface{}) bool { return one == other },
		Hash:  func(state interface{}) uint64 { return uint64(state.(int)+1) * 0x9e3779b97f4a7c15 },
	}
	operations := make([]porcupine.Operation, len(given.Operations))
	for index, each := range given.Operations {
		operations[index] = porcupine.Operation{ClientId: index, Call: each[0], Return: each[1], Input: each[2]}
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), operations, timeLimit)
}
