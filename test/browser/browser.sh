#!/bin/sh
# Prints the path of a browser for the tests: the one in CHROMIUM, one that is there, or on
# Debian and its kin one that it installs. Elsewhere it says what to install.
set -eu

for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
  if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
    command -v "$name"
    exit 0
  fi
done

mac="/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
if [ -x "$mac" ]; then
  echo "$mac"
  exit 0
fi

if ! command -v apt-get >/dev/null 2>&1 || ! grep -q '^ID=debian' /etc/os-release 2>/dev/null; then
  echo "the page is tested in a browser: install Chromium or Chrome, or set CHROMIUM to the path of one" >&2
  exit 1
fi

root=""
if [ "$(id -u)" -ne 0 ]; then
  root="sudo"
fi
echo "installing chromium" >&2
{
  $root apt-get update -q
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium
} >&2
command -v chromium
