#!/bin/sh
# Makes the user and the data folder of cpard after an installation or upgrade,
# and restarts the service if it runs. It starts nothing by itself.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers cpard.conf
  systemd-tmpfiles --create cpard.conf
else
  if ! grep -q '^cpard:' /etc/passwd; then
    if command -v useradd >/dev/null; then
      useradd --system --user-group --home-dir /var/lib/cpard --no-create-home --shell /usr/sbin/nologin cpard
    else # Alpine
      addgroup -S cpard
      adduser -S -D -H -G cpard -h /var/lib/cpard -s /sbin/nologin cpard
    fi
  fi
  mkdir -p /var/lib/cpard
  chown cpard:cpard /var/lib/cpard
  chmod 700 /var/lib/cpard
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart cpard.service
fi
