#!/bin/sh
# Installs, uses and removes the packages in a fresh Debian, each with nothing else there.
# usage: attempt.sh FOLDER DEB TARBALL WHEEL (as root; needs debootstrap)
set -eu
work=$1 deb=$2 tarball=$3 wheel=$4
suite=${CURTSY_DEBIAN:-bookworm}
say() { printf '\n== %s\n' "$*"; }

command -v debootstrap >/dev/null || { echo "hint: apt-get install debootstrap" >&2; exit 2; }
mkdir -p "$work"
# The wheel needs Python; the other two are tried without it.
for kind in bare python; do
    if [ ! -f "$work/$suite-$kind.tar" ]; then
        say "debootstrap: $suite, $kind"
        more=
        if [ "$kind" = python ]; then more=--include=python3,python3-venv; fi
        rm -rf "$work/root"
        # shellcheck disable=SC2086 # an option or none
        debootstrap --variant=minbase $more "$suite" "$work/root" >"$work/debootstrap.log"
        tar -C "$work/root" -cf "$work/$suite-$kind.tar.part" .
        mv "$work/$suite-$kind.tar.part" "$work/$suite-$kind.tar"
    fi
done

# Runs a script inside a fresh root, and fails if it leaves files behind.
inside() {
    name=$1 kind=$2 package=$3 script=$4
    say "$name"
    rm -rf "$work/root"
    mkdir -p "$work/root"
    tar -C "$work/root" -xf "$work/$suite-$kind.tar"
    cp "$package" "$work/root/root/"
    files() { (cd "$work/root" && find . -path ./proc -prune -o -path ./root -prune -o \
        -path ./var/log -prune -o -path ./var/lib/dpkg -prune -o -print | sort); }
    files >"$work/before"
    # shellcheck disable=SC2016 # read inside
    unshare --mount --pid --fork chroot "$work/root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        PACKAGE="/root/$(basename "$package")" \
        sh -euc 'mount -t proc proc /proc; cd /root; '"$script"
    files >"$work/after"
    diff "$work/before" "$work/after" || { echo "$name left files behind" >&2; exit 1; }
    echo "$name: installed, used and removed"
}

inside ".deb" bare "$deb" '
    dpkg -i "$PACKAGE"
    curtsy --version
    curtsy demo >demo.txt 2>&1 || { cat demo.txt; exit 1; }
    tail -n 4 demo.txt
    test -s /usr/share/man/man1/curtsy.1.gz
    dpkg --purge curtsy'
inside "tarball" bare "$tarball" '
    tar -xzf "$PACKAGE" -C /root
    ./curtsy-*/bin/curtsy demo >demo.txt 2>&1 || { cat demo.txt; exit 1; }
    tail -n 4 demo.txt'
inside "wheel" python "$wheel" '
    python3 -m venv venv
    # Without an index: nothing else is installed.
    start=$(date +%s%N)
    venv/bin/pip install --no-index "$PACKAGE"
    echo "pip install: $((($(date +%s%N) - start) / 1000000)) ms"
    venv/bin/curtsy demo >demo.txt 2>&1 || { cat demo.txt; exit 1; }
    tail -n 4 demo.txt
    venv/bin/python -c "
import json, subprocess, curtsy
site = subprocess.Popen([curtsy.program(), \"site\", \"--port=0\", \"--json\",
    \"--until-stdin-closes\"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
url = json.loads(site.stdout.readline())[\"hosts\"][0][\"url_by_address\"]
rows = list(curtsy.crawl(url, delay=0, pages=5))
site.communicate()
assert sum(row[\"http_status\"] == 200 for row in rows) == 5, rows
print(\"module: \", len(rows), \"rows\")"
    venv/bin/pip uninstall --yes curtsy
    test ! -e venv/bin/curtsy'
say "all packages passed"
