#!/usr/bin/env bash
# Installs what the tests run beside the product: nginx and Caddy, through
# apt-get, when this is root on a Debian-like system and one of them is missing.
# Elsewhere it says what is missing and goes on; the tests that need a proxy are
# then skipped, or fail when CI is set.
set -euo pipefail

declare -A package=([nginx]=nginx-light [caddy]=caddy)
missing=()
for program in nginx caddy; do
  PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$program" >/dev/null || missing+=("${package[$program]}")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]}; install them to run the tests behind a proxy" >&2
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi

# The packages would start their services, which nobody asked for.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -y -qq --no-install-recommends "${missing[@]}")
"${install[@]}" >/dev/null 2>&1 || { apt-get update -qq && "${install[@]}" >/dev/null; }
echo "installed: ${missing[*]}" >&2
