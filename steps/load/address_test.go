package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAddresses: a name is looked up once in a run, and an address that refuses or does not answer is paid for once.
func TestAddresses(t *testing.T) {
	refused, away := errors.New("refused"), context.DeadlineExceeded
	for name, tt := range map[string]struct {
		found  string
		behave map[string]error // of addresses
		want   string           // the addresses that connections reached
		took   time.Duration
	}{
		"one":             {"10.0.0.1", nil, "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.1", 0},
		"in turn":         {"10.0.0.1 10.0.0.2", nil, "10.0.0.1 10.0.0.2 10.0.0.1 10.0.0.2", 0},
		"loopback first":  {"127.0.0.1 10.0.0.2", nil, "127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1", 0},
		"one network":     {"fd00::1 fd00::2", nil, "fd00::1 fd00::2 fd00::1 fd00::2", 0},
		"two networks":    {"fd00::1 fd00:0:0:1::1", nil, "fd00::1 fd00::1 fd00::1 fd00::1", 0},
		"both families":   {"::1 10.0.0.2", nil, "::1 ::1 ::1 ::1", 0},
		"IPv4 alone":      {"::1 10.0.0.2", map[string]error{"::1": refused}, "10.0.0.2 10.0.0.2 10.0.0.2 10.0.0.2", 0},
		"IPv6 alone":      {"10.0.0.2 ::1", map[string]error{"10.0.0.2": refused}, "::1 ::1 ::1 ::1", 0},
		"one is away":     {"10.0.0.1 10.0.0.2", map[string]error{"10.0.0.1": away}, "10.0.0.2 10.0.0.2 10.0.0.2 10.0.0.2", anotherAfter},
		"a family is":     {"fd00::1 10.0.0.2", map[string]error{"fd00::1": away}, "10.0.0.2 10.0.0.2 10.0.0.2 10.0.0.2", anotherAfter},
		"one of three is": {"10.0.0.1 10.0.0.2 10.0.0.3", map[string]error{"10.0.0.2": refused}, "10.0.0.1 10.0.0.3 10.0.0.1 10.0.0.3", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			lookups, begin := 0, time.Now()
			var reached []string
			a := &addresses{
				lookup: func(_ context.Context, host string) ([]string, error) {
					lookups++
					return strings.Fields(tt.found), map[bool]error{true: errors.New("no such host")}[host != "sut.example"]
				},
				connect: func(ctx context.Context, address string) (net.Conn, error) {
					host, _, _ := net.SplitHostPort(address)
					if err := tt.behave[host]; errors.Is(err, away) {
						<-ctx.Done()
						return nil, ctx.Err()
					} else if err != nil {
						return nil, err
					}
					reached = append(reached, host)
					return nil, nil
				},
			}
			for range 4 {
				if _, err := a.dial(t.Context(), "sut.example:8000"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if got := strings.Join(reached, " "); got != tt.want || lookups != 1 || time.Since(begin) != tt.took {
				t.Errorf("%s: %s after %v and %d lookups, want %s after %v and 1", name, got, time.Since(begin), lookups, tt.want, tt.took)
			}
		})
	}
}

// TestAddressesThatChange: a server that is started anew can have another address, which is found when the known ones fail.
func TestAddressesThatChange(t *testing.T) {
	var alive []string
	a := &addresses{
		lookup: func(context.Context, string) ([]string, error) { return slices.Concat(alive, []string{"::1"}), nil },
		connect: func(_ context.Context, address string) (net.Conn, error) {
			if len(alive) > 0 && address == alive[0]+":80" {
				return nil, nil
			}
			return nil, errors.New(address + " refused")
		},
	}
	for _, tt := range []struct{ alive, want string }{
		{"10.0.0.1", "<nil>"}, {"10.0.0.9", "10.0.0.1:80 refused"}, {"10.0.0.9", "<nil>"}, {"", "10.0.0.9:80 refused"},
		{"", "[::1]:80 refused"},
	} {
		alive = strings.Fields(tt.alive)
		_, err := a.dial(t.Context(), "sut:80")
		if got := fmt.Sprint(err); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
