#!/bin/sh
# A stack of one process on this machine: stack.sh up SLOWDOWN | down | render SLOWDOWN | logs | lost
set -eu
PATH=/usr/bin:/bin:$PATH
mkdir -p state
at=state/$PIPELINE_STACK
settings() { printf '{"slowdown":%s}' "$1"; }
case $1 in
up)
  PIPELINE_SIMULATE=$(settings "$2") setsid sh -c "$PROGRAM"' simulate -- vllm serve tiny --port 0; :' >"$at.log" 2>&1 </dev/null &
  echo $! >"$at.pid"
  until grep -q 'server 0 on http' "$at.log"; do sleep 0.05; done
  sed -n 's/.*server 0 on /url=/p' "$at.log" >>"$PIPELINE_OUTPUT"
  echo "slowdown=$2" >>"$PIPELINE_OUTPUT"
  ;;
down)
  if [ -f "$at.pid" ]; then kill -- "-$(cat "$at.pid")" 2>/dev/null || true; fi
  rm -f "$at".*
  ;;
render) printf 'name: %s\nsettings: %s\napi_token: abcd1234efgh5678\n' "$PIPELINE_STACK" "$(settings "$2")" ;;
logs) exec tail -n +1 -f "$at.log" ;;
lost) test -f "$at.pid" || { echo "somebody removed $PIPELINE_STACK"; exit 1; } ;;
esac
