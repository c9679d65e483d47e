#!/bin/busybox sh
# The guest's first program, from the archive that its kernel boots: loads modules, mounts the host's
# files read-only below a layer in memory, and goes on with start.sh there. Files that came with the
# archive hide those of the host, as they are the same and nearer.
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
options=trans=virtio,version=9p2000.L,msize=512000
$busybox mount -t 9p -o $options,ro,cache=loose root /host || give_up "no root"
$busybox mount -t tmpfs rw /rw
$busybox mkdir /rw/upper /rw/work
$busybox mount -t overlay -o lowerdir=/files:/host,upperdir=/rw/upper,workdir=/rw/work new /new ||
    give_up "no layer in memory"
for folder in proc sys dev; do
    $busybox mount --move /$folder /new/$folder
done
# /tmp stays what the host has there, below the layer in memory: the checkout may lie in it.
$busybox mount -t tmpfs run /new/run
$busybox mkdir -p /new/dev/shm /new/dev/pts /new/run/share
$busybox mount -t tmpfs shm /new/dev/shm
$busybox mount -t devpts pts /new/dev/pts
$busybox mount -t 9p -o $options,access=any share /new/run/share || give_up "no share"
$busybox ip address add 10.0.2.15/24 dev eth0
$busybox ip link set eth0 up
$busybox ip link set lo up
. /new/run/share/environment
# As switch_root does, but it would remove the archive's files.
cd /new && $busybox mount --move . / && exec $busybox chroot . /bin/sh "$GUEST/start.sh"
