#!/bin/sh
# Stops cpard before a removal, but not before an upgrade. The argument is
# "remove" in deb packages and the number of versions that stay, 0, in rpm
# packages. Indexes and tenants in /var/lib/cpard stay, also after a purge.
set -e
case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now cpard.service
  fi
  echo "cpard: /var/lib/cpard keeps its indexes and tenants. Delete the folder yourself if you no longer need them."
  ;;
esac
