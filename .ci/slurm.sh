#!/usr/bin/env bash
# A Slurm of two nodes on one machine, for tests: a controller, and for each node a daemon
# with a network, host name and two fake GPUs of its own. Needs root and Debian's
# slurmd, slurmctld, slurm-client, munge, slurm-wlm-basic-plugins, iproute2 and util-linux.
#
#   .ci/slurm.sh up DIR         start it; then export SLURM_CONF=DIR/slurm.conf
#   .ci/slurm.sh node DIR n2    start the daemon of a node (again)
#   .ci/slurm.sh lose DIR n2    kill the daemon of a node and all that runs below it
#   .ci/slurm.sh stop DIR       stop the controller; its jobs go on
#   .ci/slurm.sh start DIR      start it again
#   .ci/slurm.sh down DIR       stop all of it and remove what it made
set -euo pipefail

ctl=10.77.0.1
bridge=pipeline-slurm

start_node() { # DIR NAME
  local dir=$1 name=$2
  rm -f "$dir/$name/slurmd.pid"
  # No `ip netns exec`: it mounts a new /sys, in which slurmd finds no cgroup.
  nsenter --net="/run/netns/pipeline-$name" unshare --uts --mount \
    bash -c 'hostname "$1"; exec env SLURM_CONF="$2/slurm.conf" slurmd -N "$1" -D' \
    node "$name" "$dir" >"$dir/$name/slurmd.out" 2>&1 </dev/null &
  echo $! >"$dir/$name/pid"
}

start_controller() { # DIR
  SLURM_CONF="$1/slurm.conf" slurmctld -D >>"$1/slurmctld.out" 2>&1 </dev/null &
  echo $! >"$1/ctl.pid"
}

stop_controller() { # DIR
  kill "$(cat "$1/ctl.pid")" 2>/dev/null || true
  wait_for 50 gone "$(cat "$1/ctl.pid")"
}

conf() { # DIR
  local dir=$1
  cat >"$dir/slurm.conf" <<CONF
ClusterName=pipeline
SlurmctldHost=$(hostname -s)($ctl)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/%n/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
KillWait=2
SlurmdTimeout=10
MinJobAge=300
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
MpiDefault=none
NodeName=n1 NodeAddr=10.77.0.11 Port=17001 CPUs=8 RealMemory=4000 Gres=gpu:2
NodeName=n2 NodeAddr=10.77.0.12 Port=17002 CPUs=8 RealMemory=4000 Gres=gpu:2
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
PartitionName=brief Nodes=n1,n2 MaxTime=00:01:00 State=UP
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
  echo CgroupPlugin=cgroup/v1 >"$dir/cgroup.conf"
  : >"$dir/gres.conf"
  for name in n1 n2; do
    mkdir -p "$dir/$name/spool"
    for gpu in 0 1; do mknod "$dir/$name/fakegpu$gpu" c 1 3; done
    echo "NodeName=$name Name=gpu File=$dir/$name/fakegpu[0-1]" >>"$dir/gres.conf"
  done
}

network() {
  ip link add "$bridge" type bridge
  ip address add "$ctl/24" dev "$bridge"
  ip link set "$bridge" up
  # A Docker daemon on the machine forbids forwarding by default.
  if command -v iptables >/dev/null; then iptables -I FORWARD -i "$bridge" -o "$bridge" -j ACCEPT || true; fi
  local n
  for n in 1 2; do
    ip netns add "pipeline-n$n"
    ip link add "pls-n$n" type veth peer name eth0 netns "pipeline-n$n"
    ip link set "pls-n$n" master "$bridge" up
    ip -n "pipeline-n$n" link set lo up
    ip -n "pipeline-n$n" address add "10.77.0.1$n/24" dev eth0
    ip -n "pipeline-n$n" link set eth0 up
    ip -n "pipeline-n$n" route add default via "$ctl"
  done
}

wait_for() { # seconds, command
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    if [ "$SECONDS" -ge "$deadline" ]; then return 1; fi
    sleep 0.1
  done
}

all_idle() { [ "$(timeout 10 sinfo -h -N -p main -t idle -o %n 2>/dev/null | wc -l)" = 2 ]; }

up() { # DIR
  local dir=$1
  mkdir -p "$dir/state"
  chmod 755 "$dir"
  export SLURM_CONF="$dir/slurm.conf"
  conf "$dir"
  network
  dd if=/dev/urandom of="$dir/munge.key" bs=1 count=1024 status=none
  chmod 600 "$dir/munge.key"
  munged --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" --log-file="$dir/munged.log" \
    --pid-file="$dir/munged.pid" --seed-file="$dir/munged.seed"
  start_controller "$dir"
  start_node "$dir" n1
  start_node "$dir" n2
  if ! wait_for 30 all_idle; then
    tail -n 20 "$dir"/slurmctld.log "$dir"/*/slurmd.log "$dir"/*/slurmd.out >&2 || true
    echo "Slurm did not come up" >&2
    return 1
  fi
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# All processes of a node's network, which are all that run below its daemon.
stop_node() { # NAME
  local pids
  pids=$(ip netns pids "pipeline-$1" 2>/dev/null || true)
  if [ -n "$pids" ]; then kill -KILL $pids 2>/dev/null || true; fi
}

# unplug removes the network and all that runs in it.
unplug() {
  local n
  for n in 1 2; do
    stop_node "n$n"
    ip netns del "pipeline-n$n" 2>/dev/null || true
    ip link del "pls-n$n" 2>/dev/null || true
  done
  if command -v iptables >/dev/null; then iptables -D FORWARD -i "$bridge" -o "$bridge" -j ACCEPT 2>/dev/null || true; fi
  ip link del "$bridge" 2>/dev/null || true
}

down() { # DIR
  local dir=$1 n pid
  for n in n1 n2; do stop_node "$n"; done
  for pid in ctl munged; do
    if [ -s "$dir/$pid.pid" ]; then
      pid=$(cat "$dir/$pid.pid")
      kill "$pid" 2>/dev/null || true
      wait_for 20 gone "$pid" || kill -KILL "$pid" || true
    fi
  done
  unplug
  rm -rf "$dir"
}

# alone refuses a second cluster, for they would share their networks, and removes what is
# left of one whose processes were killed.
alone() { # DIR
  if [ ! -e "/sys/class/net/$bridge" ]; then return; fi
  if alive; then
    echo "a cluster is up already: end it with '$0 down' and its folder" >&2
    rmdir "$1" 2>/dev/null || true
    exit 1
  fi
  echo "removing what is left of a cluster that was killed" >&2
  unplug
}

# A process that nobody has waited for has no program any more.
alive() {
  local exe
  for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2>/dev/null) in */slurmctld | */slurmctld-wlm | */slurmd | */slurmd-wlm) return 0 ;; esac
  done
  return 1
}

[ $# -ge 2 ] || { sed -n '2,12p' "$0"; exit 64; }
command=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)

case $command in
  up) alone "$dir"; up "$dir" || { down "$dir"; exit 1; } ;;
  down) down "$dir" ;;
  stop) stop_controller "$dir" ;;
  start) start_controller "$dir" ;;
  node) start_node "$dir" "$3" ;;
  lose) stop_node "$3" ;;
  *) echo "unknown command $command" >&2; exit 64 ;;
esac
