#!/usr/bin/env bash
# Two Docker hosts on one machine, for tests: two daemons, each with a network, images and
# containers of its own. Needs root, and Debian's docker.io, iptables, iproute2, openssl
# and util-linux; with openssh-server the second can be reached by ssh, too, by a
# program DIR/ssh/bin/ssh.
#
#   .ci/docker2.sh up DIR     start them; then read DIR/env
#   .ci/docker2.sh down DIR   stop them and remove what they made
#
# The first listens at tcp://10.78.0.11:2376 with TLS (client's certificates: DIR/certs),
# the second at tcp://10.78.0.12:2375, and at the socket DIR/h2/docker.sock.
set -euo pipefail

here=10.78.0.1
bridge=pipeline-docker

network() {
  ip link add "$bridge" type bridge
  ip address add "$here/24" dev "$bridge"
  ip link set "$bridge" up
  # A Docker daemon on the machine forbids forwarding by default.
  iptables -I FORWARD -i "$bridge" -o "$bridge" -j ACCEPT
  local n
  for n in 1 2; do
    ip netns add "pipeline-h$n"
    ip link add "pld-h$n" type veth peer name eth0 netns "pipeline-h$n"
    ip link set "pld-h$n" master "$bridge" up
    ip -n "pipeline-h$n" link set lo up
    ip -n "pipeline-h$n" address add "10.78.0.1$n/24" dev eth0
    ip -n "pipeline-h$n" link set eth0 up
    ip -n "pipeline-h$n" route add default via "$here"
  done
}

certificates() { # DIR
  local dir=$1/certs server=$1/h1/certs
  mkdir -p "$dir" "$server"
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=pipeline-ca -keyout "$dir/ca-key.pem" -out "$dir/ca.pem" 2>/dev/null
  local name extension
  for name in server client; do
    local out=$dir
    extension="extendedKeyUsage=clientAuth"
    if [ "$name" = server ]; then
      out=$server
      extension="extendedKeyUsage=serverAuth
subjectAltName=IP:10.78.0.11"
    fi
    openssl req -newkey rsa:2048 -nodes -subj "/CN=pipeline-$name" -keyout "$out/key.pem" -out "$out/request.pem" 2>/dev/null
    openssl x509 -req -days 2 -in "$out/request.pem" -CA "$dir/ca.pem" -CAkey "$dir/ca-key.pem" -CAcreateserial \
      -extfile <(echo "$extension") -out "$out/cert.pem" 2>/dev/null
    rm "$out/request.pem"
  done
  cp "$dir/ca.pem" "$server"
}

daemon() { # DIR N arguments
  local dir=$1 n=$2
  shift 2
  # In the network of its host alone: `ip netns exec` would mount a new /sys.
  nsenter --net="/run/netns/pipeline-h$n" dockerd --data-root "$dir/h$n/data" --exec-root "$dir/h$n/exec" \
    --pidfile "$dir/h$n/pid" --host "unix://$dir/h$n/docker.sock" "$@" >"$dir/h$n/log" 2>&1 </dev/null &
  echo $! >"$dir/h$n/daemon"
}

# ssh at the second host, for the user that runs this. DIR/ssh/bin/ssh knows its keys.
ssh_daemon() { # DIR
  local dir=$1/ssh
  mkdir -p "$dir" /run/sshd
  chmod 700 "$dir"
  ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
  ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
  cat >"$dir/sshd_config" <<CONF
ListenAddress 10.78.0.12:2222
HostKey $dir/host
AuthorizedKeysFile $dir/key.pub
PidFile $dir/pid
PasswordAuthentication no
StrictModes no
UsePAM no
CONF
  cat >"$dir/config" <<CONF
Host 10.78.0.12
  IdentityFile $dir/key
  IdentitiesOnly yes
  UserKnownHostsFile $dir/known
CONF
  echo "[10.78.0.12]:2222 $(cut -d' ' -f1,2 "$dir/host.pub")" >"$dir/known"
  mkdir "$dir/bin"
  printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$dir/config" >"$dir/bin/ssh"
  chmod 755 "$dir/bin/ssh"
  nsenter --net=/run/netns/pipeline-h2 /usr/sbin/sshd -f "$dir/sshd_config" -E "$dir/log"
}

answers() { docker --host "unix://$1/docker.sock" info >/dev/null 2>&1; }

up() { # DIR
  local dir=$1 n
  mkdir -p "$dir"/h1 "$dir"/h2
  network
  certificates "$dir"
  daemon "$dir" 1 --host tcp://10.78.0.11:2376 --tlsverify --tlscacert "$dir/h1/certs/ca.pem" --tlscert "$dir/h1/certs/cert.pem" --tlskey "$dir/h1/certs/key.pem"
  daemon "$dir" 2 --host tcp://10.78.0.12:2375 --tls=false
  for n in 1 2; do
    for _ in $(seq 120); do
      if answers "$dir/h$n" || ! kill -0 "$(cat "$dir/h$n/daemon")" 2>/dev/null; then break; fi
      sleep 0.5
    done
    answers "$dir/h$n" || { tail -n 30 "$dir/h$n/log"; return 1; }
  done
  echo "export PIPELINE_DOCKER2=$dir" >"$dir/env"
  if [ -x /usr/sbin/sshd ]; then ssh_daemon "$dir"; fi
}

# unplug removes the network and what runs in it.
unplug() {
  local n pids
  for n in 1 2; do
    pids=$(ip netns pids "pipeline-h$n" 2>/dev/null || true)
    if [ -n "$pids" ]; then kill -KILL $pids 2>/dev/null || true; fi
    ip netns delete "pipeline-h$n" 2>/dev/null || true
    ip link delete "pld-h$n" 2>/dev/null || true
  done
  ip link delete "$bridge" 2>/dev/null || true
  iptables -D FORWARD -i "$bridge" -o "$bridge" -j ACCEPT 2>/dev/null || true
}

down() { # DIR
  local dir=$1 n
  if [ -f "$dir/ssh/pid" ]; then kill "$(cat "$dir/ssh/pid")" 2>/dev/null || true; fi
  # A daemon takes up to fifteen seconds to end its containers: both do so at once.
  for n in 1 2; do
    if [ -f "$dir/h$n/daemon" ]; then kill "$(cat "$dir/h$n/daemon")" 2>/dev/null || true; fi
  done
  for n in 1 2; do
    if [ -f "$dir/h$n/daemon" ]; then
      for _ in $(seq 200); do
        kill -0 "$(cat "$dir/h$n/daemon")" 2>/dev/null || break
        sleep 0.1
      done
    fi
    # A daemon leaves the namespace of its own network mounted, and its folder if it was killed.
    umount "$dir/h$n"/exec/netns/* "$dir/h$n/data" 2>/dev/null || true
  done
  unplug
  rm -rf "$dir"
}

alive() {
  local pid
  for pid in $(ip netns pids pipeline-h1 2>/dev/null) $(ip netns pids pipeline-h2 2>/dev/null); do
    # A process that nobody has waited for has no program any more.
    case $(readlink "/proc/$pid/exe" 2>/dev/null) in */dockerd) return 0 ;; esac
  done
  return 1
}

# alone refuses a second pair of hosts, for they would share their networks, and removes
# what is left of one whose daemons were killed.
alone() { # DIR
  if [ ! -e "/sys/class/net/$bridge" ]; then return; fi
  if alive; then
    echo "two hosts are up already: end them with '$0 down' and their folder" >&2
    rmdir "$1" 2>/dev/null || true
    exit 1
  fi
  echo "removing what is left of two hosts that were killed" >&2
  unplug
}

case "${1:-} ${2:-}" in
  "up "?*)
    dir=$(mkdir -p "$2" && cd "$2" && pwd)
    alone "$dir"
    up "$dir" || { down "$dir"; exit 1; }
    ;;
  "down "?*) down "$(cd "$2" && pwd)" ;;
  *) sed -n '2,11p' "$0"; exit 2 ;;
esac
