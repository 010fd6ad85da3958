#!/usr/bin/env bash
# A Kubernetes of two nodes on one machine, for tests: a control plane, and for each node a
# kubelet and a containerd with a network, file system and processes of their own. Beside
# them is Kueue, for the namespaces with the label pipeline.test/kueue=true. Needs root, Go,
# and Debian's etcd-server, containerd, runc, containernetworking-plugins, iproute2, iptables,
# openssl, curl and util-linux. Kubernetes and Kueue are built of their sources
# (.ci/kubernetes): neither Debian 12 nor PyPI has anything that is lighter.
#
#   .ci/kubernetes.sh build                        build it, if it is not in the cache
#   .ci/kubernetes.sh up DIR                       start it; then read DIR/env
#   .ci/kubernetes.sh image DIR NAME:TAG PROGRAM [WORD...]   give both nodes an image of a static program, which starts with these words
#   .ci/kubernetes.sh stop DIR k1                  stop kubelet and containerd; containers go on
#   .ci/kubernetes.sh lose DIR k1                  kill all that runs on a node, cut its network
#   .ci/kubernetes.sh start DIR k1                 start a node again
#   .ci/kubernetes.sh api stop DIR                 kill the API server
#   .ci/kubernetes.sh api start DIR                start it again
#   .ci/kubernetes.sh down DIR                     stop all of it and remove what it made
#
# The API server is https://10.79.0.1:16443. DIR/admin.kubeconfig may do everything,
# DIR/bench.kubeconfig nothing before a Role is bound to its user "bench". DIR/bin/kubectl is kubectl. Each node has so many
# nvidia.com/gpu that is fake that no test waits for one. A Pod's address is reached from the machine, too. There is
# no DNS and no kube-proxy: of all Services only "kubernetes" has an address that works.
set -euo pipefail

version=v1.34.4
here=10.79.0.1
port=16443
etcd=127.0.0.1:16379
service=10.79.200.1
bridge=pipeline-k8s
nodes="k1 k2"
gpus=8 # fake, of each node
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/kubernetes" && pwd)

# built is the folder of the programs. Its name is that of their sources.
built() {
  local key
  key=$(cd "$source" && cat go.mod go.sum main.go image/main.go pause/main.go | sha256sum | cut -c1-16)
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/pipeline-ci/kubernetes/$version-$key"
}

build() {
  local out
  out=$(built)
  if [ -d "$out" ]; then return 0; fi
  mkdir -p "$(dirname "$out")"
  # One build at a time; the second finds what the first has made.
  exec 8>"$(dirname "$out")/lock"
  flock 8
  if [ -d "$out" ]; then return 0; fi
  local new kueue
  rm -rf "$(dirname "$out")"/*.?????? # of builds that were killed
  new=$(mktemp -d "$out.XXXXXX")
  (cd "$source" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$new/" \
    -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" . ./image ./pause tool) || { rm -rf "$new"; return 1; }
  kueue=$(cd "$source" && go list -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config/components
  install -D -m 644 -t "$new/resources" "$kueue"/crd/bases/*.yaml
  install -m 644 "$kueue/webhook/manifests.yaml" "$new/webhooks.yaml"
  mv "$new" "$out"
  exec 8>&-
}

number() { echo "${1#k}"; } # NODE

network() {
  ip link add "$bridge" type bridge
  ip address add "$here/24" dev "$bridge"
  ip link set "$bridge" up
  # A Docker daemon on the machine forbids forwarding by default.
  iptables -I FORWARD -i "$bridge" -o "$bridge" -j ACCEPT
  ip route add "$service/32" dev "$bridge"
  iptables -t nat -I OUTPUT -d "$service/32" -p tcp --dport 443 -j DNAT --to-destination "$here:$port"
  local node n
  for node in $nodes; do
    n=$(number "$node")
    ip netns add "pipeline-$node"
    ip link add "plk-$node" type veth peer name eth0 netns "pipeline-$node"
    ip link set "plk-$node" master "$bridge" up
    ip -n "pipeline-$node" link set lo up
    ip -n "pipeline-$node" address add "10.79.0.1$n/24" dev eth0
    plug "$node"
    # The address of the Service "kubernetes" is the API server's, as kube-proxy would do it.
    nsenter --net="/run/netns/pipeline-$node" sh -c "echo 1 >/proc/sys/net/ipv4/ip_forward
      for chain in PREROUTING OUTPUT; do
        iptables -t nat -A \$chain -d $service/32 -p tcp --dport 443 -j DNAT --to-destination $here:$port
      done"
  done
}

# plug connects a node's network, with routes to the Pods of all nodes. An address stays
# when its interface goes down, routes do not.
plug() { # NODE
  local other
  ip link set "plk-$1" up
  ip -n "pipeline-$1" link set eth0 up
  ip -n "pipeline-$1" route replace default via "$here"
  for other in $nodes; do
    if [ "$other" != "$1" ]; then ip -n "pipeline-$1" route replace "10.79.10$(number "$other").0/24" via "10.79.0.1$(number "$other")"; fi
  done
  ip route replace "10.79.10$(number "$1").0/24" via "10.79.0.1$(number "$1")"
}

# unplug removes all networks and what runs in them.
unplug() {
  local node pids
  for node in $nodes; do
    pids=$(ip netns pids "pipeline-$node" 2>/dev/null || true)
    if [ -n "$pids" ]; then kill -KILL $pids 2>/dev/null || true; fi
    ip netns delete "pipeline-$node" 2>/dev/null || true
    ip link delete "plk-$node" 2>/dev/null || true
  done
  ip link delete "$bridge" 2>/dev/null || true
  iptables -D FORWARD -i "$bridge" -o "$bridge" -j ACCEPT 2>/dev/null || true
  iptables -t nat -D OUTPUT -d "$service/32" -p tcp --dport 443 -j DNAT --to-destination "$here:$port" 2>/dev/null || true
  # Only what is empty goes.
  find /sys/fs/cgroup -depth -type d \( -path "*/k8s.io/*" -o -path "*/k8s.io" \) -exec rmdir {} \; 2>/dev/null || true
}

# certificate signs one for a name, with the extensions that are given.
certificate() { # DIR NAME SUBJECT EXTENSIONS
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$3" -keyout "$1/$2-key.pem" -out "$1/$2.csr" 2>/dev/null
  openssl x509 -req -days 2 -in "$1/$2.csr" -CA "$1/ca.pem" -CAkey "$1/ca-key.pem" -CAcreateserial \
    -extfile <(echo "$4") -out "$1/$2.pem" 2>/dev/null
  rm "$1/$2.csr"
}

certificates() { # DIR
  local dir=$1/certs
  mkdir -p "$dir"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=pipeline-ca -keyout "$dir/ca-key.pem" -out "$dir/ca.pem" 2>/dev/null
  certificate "$dir" server /CN=kube-apiserver "extendedKeyUsage=serverAuth
subjectAltName=IP:$here,IP:$service,DNS:kubernetes.default.svc"
  certificate "$dir" kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client "extendedKeyUsage=clientAuth"
  openssl ecparam -name prime256v1 -genkey -noout -out "$dir/accounts-key.pem"
  openssl ec -in "$dir/accounts-key.pem" -pubout -out "$dir/accounts.pem" 2>/dev/null
}

# users writes who may log in, and for each a kubeconfig.
users() { # DIR
  local dir=$1 name user groups
  while read -r name user groups; do
    echo "token-of-$name,$user,$name,\"$groups\"" >>"$dir/tokens.csv"
    cat >"$dir/$name.kubeconfig" <<CONF
apiVersion: v1
kind: Config
clusters: [{name: pipeline, cluster: {server: "https://$here:$port", certificate-authority-data: $(base64 -w0 "$dir/certs/ca.pem")}}]
users: [{name: $name, user: {token: token-of-$name}}]
contexts: [{name: $name, context: {cluster: pipeline, user: $name}}]
current-context: $name
CONF
  done <<USERS
admin admin system:masters
bench bench
controllers system:kube-controller-manager
scheduler system:kube-scheduler
k1 system:node:k1 system:nodes
k2 system:node:k2 system:nodes
USERS
}

# daemon starts a program of the control plane.
daemon() { # DIR NAME PROGRAM...
  local dir=$1 name=$2
  shift 2
  "$@" >>"$dir/$name.log" 2>&1 </dev/null 8>&- &
  echo $! >"$dir/$name.pid"
}

# A process that nobody waits for stays as a zombie. The first process of a node is none
# before all others of its node have ended.
gone() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null; }

wait_for() { # seconds, command
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    if [ "$SECONDS" -ge "$deadline" ]; then return 1; fi
    sleep 0.1
  done
}

kill_daemon() { # DIR NAME
  local pid
  if [ ! -s "$1/$2.pid" ]; then return 0; fi
  pid=$(cat "$1/$2.pid")
  kill -KILL "$pid" 2>/dev/null || true
  wait_for 20 gone "$pid"
  rm "$1/$2.pid"
}

api() { # DIR METHOD PATH [curl's arguments]; the answer is JSON in one line
  local dir=$1 method=$2 path=$3
  shift 3
  curl -sS --fail --max-time 10 -A pipeline --cacert "$dir/certs/ca.pem" -H "Authorization: Bearer token-of-admin" -X "$method" "https://$here:$port$path" "$@" 2>>"$dir/curl.log"
}

api_ready() { api "$1" GET /readyz >/dev/null; }

start_api() { # DIR
  local dir=$1
  # Debian's etcd has no answer to the question that the estimate of sizes asks it.
  daemon "$dir" kube-apiserver "$dir/bin/kubernetes" kube-apiserver --etcd-servers="http://$etcd" \
    --bind-address="$here" --secure-port="$port" --service-cluster-ip-range="${service%.*}.0/24" \
    --cert-dir="$dir/certs" --tls-cert-file="$dir/certs/server.pem" --tls-private-key-file="$dir/certs/server-key.pem" \
    --client-ca-file="$dir/certs/ca.pem" --token-auth-file="$dir/tokens.csv" --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction --allow-privileged=true --kubelet-preferred-address-types=InternalIP \
    --kubelet-client-certificate="$dir/certs/kubelet-client.pem" --kubelet-client-key="$dir/certs/kubelet-client-key.pem" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$dir/certs/accounts.pem" \
    --service-account-signing-key-file="$dir/certs/accounts-key.pem" \
    --feature-gates=SizeBasedListCostEstimate=false \
    --default-not-ready-toleration-seconds=60 --default-unreachable-toleration-seconds=60
  wait_for 60 api_ready "$dir"
}

control_plane() { # DIR
  local dir=$1
  daemon "$dir" etcd etcd --data-dir "$dir/etcd" --listen-client-urls "http://$etcd" --advertise-client-urls "http://$etcd" \
    --listen-peer-urls http://127.0.0.1:16380 --initial-advertise-peer-urls http://127.0.0.1:16380 \
    --initial-cluster default=http://127.0.0.1:16380
  start_api "$dir"
  # A node that is silent for 12 seconds is lost.
  daemon "$dir" kube-controller-manager "$dir/bin/kubernetes" kube-controller-manager --kubeconfig="$dir/controllers.kubeconfig" \
    --leader-elect=false --secure-port=0 --use-service-account-credentials=true --root-ca-file="$dir/certs/ca.pem" \
    --service-account-private-key-file="$dir/certs/accounts-key.pem" --flex-volume-plugin-dir="$dir/flex" \
    --node-monitor-period=2s --node-monitor-grace-period=12s
  daemon "$dir" kube-scheduler "$dir/bin/kubernetes" kube-scheduler --kubeconfig="$dir/scheduler.kubeconfig" \
    --leader-elect=false --secure-port=0
}

# define makes an object of YAML.
define() { # DIR PATH
  api "$1" POST "$2" -H "Content-Type: application/yaml" --data-binary @- >/dev/null
}

# all_known: the API server lists all of Kueue's resources.
all_known() { # DIR
  local listed
  listed=$(api "$1" GET /apis/kueue.x-k8s.io/v1beta2) || return 1
  [ "$(grep -o '"singularName":"[a-z]' <<<"$listed" | wc -l)" = "$(ls "$1/bin/resources" | wc -l)" ]
}

# start_kueue starts Kueue as a program of this machine. Its resources and webhooks are those
# of its sources, but for two: the version that it asks for is the one that is stored, so that
# nothing is converted, and a webhook has an address instead of a Service.
start_kueue() { # DIR
  local dir=$1 file kind bundle
  certificate "$dir/certs" kueue /CN=kueue "extendedKeyUsage=serverAuth
subjectAltName=IP:$here"
  install -D "$dir/certs/kueue.pem" "$dir/etc/kueue/metrics/certs/tls.crt"
  install "$dir/certs/kueue-key.pem" "$dir/etc/kueue/metrics/certs/tls.key"
  cat >"$dir/etc/kueue.yaml" <<CONF
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: "$here:18081"}
metrics: {bindAddress: "0"}
webhook: {host: "$here", port: 19443, certDir: /etc/kueue/metrics/certs}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
integrations: {frameworks: [batch/job, pod]}
featureGates: {VisibilityOnDemand: false}
CONF
  for file in "$dir"/bin/resources/*.yaml; do
    sed 's/^    storage: true$/    storage: past/; s/^    storage: false$/    storage: true/; s/^    storage: past$/    storage: false/' "$file" |
      define "$dir" /apis/apiextensions.k8s.io/v1/customresourcedefinitions
  done
  wait_for 60 all_known "$dir"
  # It looks for certificates at a path of /etc that no flag changes.
  daemon "$dir" kueue unshare --mount --propagation private sh -c 'mount --bind "$1/etc" /etc
    exec "$1/bin/kueue" --config=/etc/kueue.yaml --kubeconfig="$1/admin.kubeconfig"' kueue "$dir"
  wait_for 60 curl -sf -o /dev/null "http://$here:18081/readyz"
  bundle=$(base64 -w0 "$dir/certs/ca.pem")
  for kind in Mutating Validating; do
    {
      echo "apiVersion: admissionregistration.k8s.io/v1"
      sed -n "/^kind: $kind/,/^---/p" "$dir/bin/webhooks.yaml" |
        sed "/^---/d; /^    service:/d; /^      name: webhook-service/d; /^      namespace: system/d
          s|^      path: \(.*\)|    url: https://$here:19443\1\n    caBundle: $bundle\n  namespaceSelector: {matchLabels: {pipeline.test/kueue: \"true\"}}|"
    } | define "$dir" "/apis/admissionregistration.k8s.io/v1/${kind,}webhookconfigurations"
  done
}

# snapshotter is overlayfs where the file system of DIR can be its upper layer.
snapshotter() { # DIR
  mkdir -p "$1/overlay"/{lower,upper,work,all}
  if unshare --mount mount -t overlay overlay -o "lowerdir=$1/overlay/lower,upperdir=$1/overlay/upper,workdir=$1/overlay/work" "$1/overlay/all" 2>/dev/null; then
    echo overlayfs
  else
    echo native
  fi
  rm -rf "$1/overlay"
}

node_conf() { # DIR NODE
  local dir=$1 node=$2
  mkdir -p "$dir/$node"/{cni,lib/kubelet,log,run}
  # Lower values of oom_score_adj need CAP_SYS_RESOURCE, which a container has not.
  cat >"$dir/$node/containerd.toml" <<CONF
version = 2
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/pipeline/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "$(snapshotter "$dir/$node")"
  default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "$dir/$node/cni"
CONF
  cat >"$dir/$node/cni/10-pods.conflist" <<CONF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.79.10$(number "$node").0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
CONF
  # The two nodes share the machine's memory and disk: a full disk evicts nobody. A Pod that
  # asks for a name is refused at once by its own loopback address.
  cat >"$dir/$node/kubelet.yaml" <<CONF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $dir/certs/ca.pem}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 8
makeIPTablesUtilChains: false
clusterDNS: [127.0.0.1]
resolvConf: ""
volumePluginDir: /var/lib/kubelet/volumeplugins
CONF
}

# boot makes the node's namespaces. What a node writes beside its volumes is in DIR/NODE/lib,
# log and run; its mounts and processes go when its first process ends.
boot() { # DIR NODE
  local dir=$1 node=$2
  rm -rf "$dir/$node/run"
  mkdir -p "$dir/$node/run"
  # No `ip netns exec`: it mounts a new /sys, in which the kubelet finds no cgroup.
  nsenter --net="/run/netns/pipeline-$node" unshare --uts --mount --propagation private --pid --fork --mount-proc \
    sh -c 'hostname "$1"
      mount --bind "$2/$1/lib" /var/lib
      mount --bind "$2/$1/log" /var/log
      mount --bind "$2/$1/run" /run
      exec "$3"' node "$node" "$dir" "$dir/bin/pause" >"$dir/$node/boot.log" 2>&1 </dev/null 8>&- &
  wait_for 10 booted "$!" "$dir/$node/init"
}

# booted writes the process that is the node's first, once it has become what it shall be.
booted() { # PARENT FILE
  local child
  child=$(cat "/proc/$1/task/$1/children" 2>/dev/null || true)
  child=${child%% *}
  case $(readlink "/proc/${child:-none}/exe" 2>/dev/null) in */pause) echo "$child" >"$2" ;; *) return 1 ;; esac
}

inside() { # DIR NODE COMMAND...
  local init
  init=$(cat "$1/$2/init")
  shift 2
  nsenter --target "$init" --net --uts --mount --pid "$@"
}

# start_node boots a node that is off, and starts containerd and kubelet, which end with it.
start_node() { # DIR NODE
  local dir=$1 node=$2
  plug "$node"
  if [ ! -s "$dir/$node/init" ] || gone "$(cat "$dir/$node/init")"; then boot "$dir" "$node"; fi
  inside "$dir" "$node" sh -c '
    containerd --config "$1/$2/containerd.toml" >>"$1/$2/containerd.log" 2>&1 &
    echo $! >"$1/$2/containerd.pid"' start "$dir" "$node" </dev/null 8>&-
  wait_for 30 inside "$dir" "$node" ctr version >/dev/null 2>&1
  inside "$dir" "$node" ctr --namespace k8s.io images import - <"$dir/pause.tar" >/dev/null
  rm -f "$dir/$node/kubelet.log" # what it says decides when the node is up
  inside "$dir" "$node" sh -c '
    "$3" kubelet --config="$1/$2/kubelet.yaml" --kubeconfig="$1/$2.kubeconfig" --hostname-override="$2" --node-ip="$4" >"$1/$2/kubelet.log" 2>&1 &
    echo $! >"$1/$2/kubelet.pid"' start "$dir" "$node" "$dir/bin/kubernetes" "10.79.0.1$(number "$node")" </dev/null 8>&-
}

# A kubelet that starts takes away the devices that it does not know; so only then it gets its GPUs.
equip() { # DIR NODE
  wait_for 60 grep -q "Successfully registered node" "$1/$2/kubelet.log"
  api "$1" PATCH "/api/v1/nodes/$2/status" -H "Content-Type: application/json-patch+json" \
    -d '[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "'"$gpus"'"}]' >/dev/null
}

# stop_node ends containerd and kubelet, as for an upgrade.
stop_node() { # DIR NODE
  local name
  for name in kubelet containerd; do
    inside "$1" "$2" kill -KILL "$(cat "$1/$2/$name.pid")" 2>/dev/null || true
  done
}

# lose_node is a power cut: the end of the first process is that of all others.
lose_node() { # DIR NODE
  ip link set "plk-$2" down 2>/dev/null || true
  if [ ! -s "$1/$2/init" ]; then return 0; fi
  kill -KILL "$(cat "$1/$2/init")" 2>/dev/null || true
  wait_for 30 gone "$(cat "$1/$2/init")"
  rm "$1/$2/init"
  # The machine has not lost its power, and a kubelet waits for each cgroup without a container.
  local container
  for container in "$1/$2"/run/containerd/io.containerd.runtime.v2.task/k8s.io/*; do
    rmdir /sys/fs/cgroup/k8s.io/"${container##*/}" /sys/fs/cgroup/*/k8s.io/"${container##*/}" 2>/dev/null || true
  done
}

node_ready() { # DIR NODE
  local status
  status=$(api "$1" GET "/api/v1/nodes/$2") || return 1
  case $status in *'"taints"'*) return 1 ;; esac
  grep -q '"type":"Ready","status":"True"' <<<"$status" &&
    [ "$(grep -o "\"nvidia.com/gpu\":\"$gpus\"" <<<"$status" | wc -l)" = 2 ]
}

all_ready() { # DIR
  local node
  for node in $nodes; do node_ready "$1" "$node" || return 1; done
  api "$1" GET /api/v1/namespaces/default/serviceaccounts/default >/dev/null
}

up() { # DIR
  local dir=$1 node
  build
  # The sources may change while it is up.
  ln -s "$(built)" "$dir/bin"
  network
  certificates "$dir"
  users "$dir"
  "$dir/bin/image" docker.io/pipeline/pause:1 "$dir/bin/pause" >"$dir/pause.tar"
  control_plane "$dir"
  for node in $nodes; do
    node_conf "$dir" "$node"
    start_node "$dir" "$node"
  done
  start_kueue "$dir"
  for node in $nodes; do equip "$dir" "$node"; done
  wait_for 60 all_ready "$dir"
  cat >"$dir/env" <<ENV
export PIPELINE_KUBERNETES=$dir
export KUBECONFIG=$dir/admin.kubeconfig
ENV
  echo ". $dir/env"
}

down() { # DIR
  local dir=$1 name
  for name in $nodes; do lose_node "$dir" "$name"; done
  for name in kueue kube-scheduler kube-controller-manager kube-apiserver etcd; do kill_daemon "$dir" "$name"; done
  unplug
  rm -rf "$dir"
}

image() { # DIR NAME:TAG PROGRAM [WORD...]
  local dir=$1 node
  for node in $nodes; do
    "$dir/bin/image" "${@:2}" | inside "$dir" "$node" ctr --namespace k8s.io images import - >/dev/null
  done
}

alive() {
  local exe
  for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2>/dev/null) in */pipeline-ci/kubernetes/*) return 0 ;; esac
  done
  return 1
}

# alone refuses a second cluster, for they would share their networks and addresses, and
# removes what is left of one whose processes were killed.
alone() { # DIR
  if [ -e "$1/tokens.csv" ]; then
    echo "a cluster was started in $1 already: end it with '$0 down $1'" >&2
    exit 1
  fi
  if [ ! -e "/sys/class/net/$bridge" ]; then return 0; fi
  if alive; then
    echo "a cluster is up already, and the addresses 10.79.0.0/16 are for one: end it with '$0 down' and its folder" >&2
    rmdir "$1" 2>/dev/null || true
    exit 1
  fi
  echo "removing what is left of a cluster that was killed" >&2
  unplug
}

usage() { sed -n '2,22p' "$0"; exit 64; }

# folder is the absolute path of a cluster that was started.
folder() { # DIR
  if [ ! -e "$1/tokens.csv" ]; then
    echo "no cluster was started in $1" >&2
    exit 1
  fi
  cd "$1" && pwd
}

node() { # NAME
  case " $nodes " in *" $1 "*) ;; *) echo "no node $1: there are $nodes" >&2; exit 64 ;; esac
}

case "${1:-} $#" in
  "build 1") build ;;
  "up 2")
    dir=$(mkdir -p "$2" && cd "$2" && pwd)
    alone "$dir"
    # Not `up || down`: the shell would no longer stop at the first error.
    trap 'tail -n 20 "$dir"/*.log "$dir"/k?/*.log >&2 || true; echo "Kubernetes did not come up" >&2; down "$dir"' EXIT
    up "$dir"
    trap - EXIT
    ;;
  "image "[4-9]) dir=$(folder "$2"); image "$dir" "${@:3}" ;;
  "stop 3") dir=$(folder "$2"); node "$3"; stop_node "$dir" "$3" ;;
  "lose 3") dir=$(folder "$2"); node "$3"; lose_node "$dir" "$3" ;;
  "start 3")
    dir=$(folder "$2")
    node "$3"
    start_node "$dir" "$3"
    equip "$dir" "$3"
    wait_for 60 node_ready "$dir" "$3"
    ;;
  "api 3")
    dir=$(folder "$3")
    case $2 in
      stop) kill_daemon "$dir" kube-apiserver ;;
      start) start_api "$dir" ;;
      *) usage ;;
    esac
    ;;
  "down 2") dir=$(folder "$2"); down "$dir" ;;
  *) usage ;;
esac
