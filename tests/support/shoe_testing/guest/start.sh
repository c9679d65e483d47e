#!/bin/sh
# The guest's start, in the files of the archive: users and udev rules as on a table's host, then the
# agent.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

systemd-sysusers "$CHECKOUT/systemd/shoectl.sysusers.conf"
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --settle /dev/ttyS1
cd /tmp || exit
exec "$PYTHON" -m shoe_testing.guest.agent
