#!/bin/busybox sh
# Mounts what the guest has of its host, below what it has by itself: called by the agent, in the
# archive's files. No guest can be kept once this has run.
busybox=/bin/busybox
set -e
options=trans=virtio,version=9p2000.L,msize=512000
$busybox mount -t 9p -o $options,ro,cache=loose root /host
$busybox mount -t 9p -o $options,access=any share /new/run/share
layers=lowerdir=/rw/upper:/files:/host,upperdir=/rw/host-upper,workdir=/rw/host-work
# /tmp is what the host has there, below the layer in memory: the checkout may lie in it.
$busybox mount -t overlay -o $layers all /all
for folder in proc sys dev run; do
    $busybox mount --rbind /new/$folder /all/$folder
done
