package slurmjob

import (
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

func TestServersByRole(t *testing.T) {
	_, opt := jobOf(t, 4, nil)
	hosts := rolesOn(opt, opt.Plan.Targets[0].Addr, 4)
	if got := hosts[result.RoleServer]; len(hosts) != 1 || len(got) != 4 || got[0] != 0 || got[3] != 3 {
		t.Errorf("with four lanes the server is on nodes %v", hosts)
	}
}
