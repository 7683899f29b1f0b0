#!/usr/bin/env bash
# Installs the programs that the tests drive for real: a keychain, proxies, shells, readers of manual pages and of spreadsheets. Elsewhere
# than on Debian, without the right to, or where apt-get fails, it says so, and the tests that need them are left out.
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
  echo 'No apt-get here: the tests leave out what is not installed.'
  exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && sudo --non-interactive true 2>/dev/null; then
  as_root=(sudo)
else
  echo "Not root: the tests leave out what is not installed. To have all: apt-get install ${packages[*]}"
  exit 0
fi

export DEBIAN_FRONTEND=noninteractive
# Offline, or with a list of packages that lacks one, the checks are still worth running.
"${as_root[@]}" apt-get update --quiet --quiet &&
  "${as_root[@]}" apt-get install --quiet --quiet --yes --no-install-recommends "${packages[@]}" >/dev/null ||
  echo 'apt-get failed: the tests leave out what is not installed.'
