#!/usr/bin/env bash
# Installs the programs that the tests use: a keychain, proxies, shells, readers of manual pages and of spreadsheets. If there is no apt-get or
# no root, or apt-get fails, it says so, and the tests that need these programs are skipped.
set -euo pipefail

packages=(
  bsdutils dbus gnome-keyring libsecret-tools
  squid tinyproxy
  zsh fish
  groff man-db
  jq openssl parallel sqlite3
  gnumeric python3-pandas python3-openpyxl
)

if ! command -v apt-get >/dev/null; then
  echo 'No apt-get here: tests that need missing programs are skipped.'
  exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && sudo --non-interactive true 2>/dev/null; then
  as_root=(sudo)
else
  echo "Not root: tests that need missing programs are skipped. To run all tests: apt-get install ${packages[*]}"
  exit 0
fi

export DEBIAN_FRONTEND=noninteractive
# Do not fail: offline, or if a package is missing, the other checks are still worth running.
"${as_root[@]}" apt-get update --quiet --quiet &&
  "${as_root[@]}" apt-get install --quiet --quiet --yes --no-install-recommends "${packages[@]}" >/dev/null ||
  echo 'apt-get failed: tests that need missing programs are skipped.'
