#!/bin/busybox sh
# The guest's first program, from the archive that its kernel boots: loads modules, lays a layer in
# memory over the files that came with the archive, and goes on with start.sh there.
busybox=/bin/busybox
give_up() {
    echo "init: $1"
    $busybox poweroff -f
}
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
for module in $($busybox cat /modules/order); do
    $busybox insmod "/modules/$module.ko" || give_up "no module $module"
done
$busybox mount -t tmpfs rw /rw
$busybox mkdir -p /rw/upper /rw/work /rw/host-upper /rw/host-work
$busybox mount -t overlay -o lowerdir=/files,upperdir=/rw/upper,workdir=/rw/work new /new ||
    give_up "no layer in memory"
$busybox mkdir -p -m 1777 /new/tmp
$busybox mkdir -p /new/proc /new/sys /new/dev /new/run
$busybox mount -t tmpfs run /new/run
for folder in proc sys dev; do
    $busybox mount --bind /$folder /new/$folder
done
$busybox mkdir -p /dev/shm /dev/pts /new/run/share
$busybox mount -t tmpfs shm /new/dev/shm
$busybox mount -t devpts pts /new/dev/pts
$busybox ip address add 10.0.2.15/24 dev eth0
$busybox ip link set eth0 up
$busybox ip link set lo up
. /environment
export SYSTEMD_IGNORE_CHROOT=1
$busybox chroot /new /bin/sh "$GUEST/start.sh"
give_up "start.sh ended"
