#!/bin/sh
# The guest's start, in the host's files: users and udev rules as on a table's host, then the agent.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
. /run/share/environment

# The service's user may enter the folders of the checkout and of its Python, in the guest alone.
set -- /
for path in "$CHECKOUT" "$(readlink -f "$PYTHON")"; do
    while path=${path%/*} && [ "$path" ]; do
        set -- "$@" "$path"
    done
done
chmod o+x "$@"

systemd-sysusers "$CHECKOUT/systemd/shoectl.sysusers.conf"
rm -rf /etc/udev/rules.d
mkdir -p /etc/udev/rules.d
cp "$CHECKOUT/udev/70-card-shoe.rules" /run/share/60-card-shoe-site.rules /etc/udev/rules.d/
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --settle /dev/ttyS1
cd /tmp || exit
"$PYTHON" -m shoe_testing.guest.agent
busybox poweroff -f
