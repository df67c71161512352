# What the emulated machines of tests/machine/run and tests/rdma/run share: a kernel of Debian's newer than the host's, QEMU, and a folder
# of files that becomes the machine's. Sourced at the root of the repository, with `machine` set to the folder that all of it goes to.

debian=$PWD/target/machine

skip() {
    echo "skipped: $*"
    exit 77
}

# kernel PACKAGE...      QEMU, further packages of the host, and the kernel: sets `modules` and `qemu`
kernel() {
    command -v apt-get >/dev/null && [ -f /usr/share/keyrings/debian-archive-keyring.gpg ] || skip "this is not Debian"
    scripts/setup qemu-system-x86 busybox-static cpio xz-utils "$@" || skip "Debian's packages cannot be installed"
    mkdir -p "$machine" "$debian"/{lists,cache/archives/partial,packages}
    local mirror suite version
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -1)
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    for suite in trixie-backports "$codename-backports"; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done | sort -u >"$debian/sources.list"
    apt=(-q -q -o Dir::Etc::SourceList="$debian/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$debian/lists"
        -o Dir::Cache="$debian/cache" -o APT::Sandbox::User=root)
    apt-get "${apt[@]}" update || skip "Debian's backports cannot be had"
    version=$(apt-cache "${apt[@]}" depends linux-image-amd64/trixie-backports | sed -n 's/.*Depends: linux-image-//p' | head -1)
    fetch trixie-backports "linux-binary-$version" "linux-modules-$version" || skip "Debian's kernel $version cannot be had"
    modules=$debian/usr/lib/modules/$version
    qemu=(qemu-system-x86_64)
}

# fetch SUITE PACKAGE...      unpacks packages into target/machine
fetch() {
    local suite=$1 package
    for package in "${@:2}"; do
        [ ! -e "$debian/packages/$package" ] || continue
        (cd "$debian/cache/archives" && rm -f ./*.deb && apt-get "${apt[@]}" download "$package/$suite" && dpkg-deb -x ./*.deb "$debian") || return 1
        touch "$debian/packages/$package"
    done
}

# files INIT      begins the machine's files: a shell and its first process
files() {
    root=$machine/root
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,etc,modules,proc,run,sys,tmp}
    cp "$(command -v busybox)" "$root/bin/busybox"
    install -m 755 "$1" "$root/init"
}

# library FILE...      libraries at the place that they have here, with those that they load
library() {
    local file library
    for file in "$@"; do
        for library in "$file" $(ldd "$file" | grep -o '/[^ ]*'); do
            mkdir -p "$root$(dirname "$library")"
            cp -nL "$library" "$root$library"
        done
    done
}

# program FILE NAME      a program under /bin, with its libraries
program() {
    local file
    file=$(PATH=$PATH:/usr/sbin command -v "$1")
    library $(ldd "$file" | grep -o '/[^ ]*')
    cp -L "$file" "$root/bin/$2"
    strip "$root/bin/$2" 2>/dev/null || true
}

# module NAME...      drivers, each after those it needs; what the kernel has built in is no module
module() {
    local name found
    for name in "$@"; do
        found=$(find "$modules" -name "$name.ko*")
        case $found in
        *.xz) xz -dc "$found" >"$root/modules/$name.ko" ;;
        ?*) cp "$found" "$root/modules/$name.ko" ;;
        *) continue ;;
        esac
        echo "$name" >>"$root/modules/order"
    done
}

# boot SECONDS ARGUMENT...      runs the machine, and fails unless it tells that all tests passed
boot() {
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$machine/initrd"
    timeout "$1" "${qemu[@]}" -machine q35 -m 2048 -nic none "${@:2}" -display none -serial stdio -no-reboot \
        -kernel "$modules/vmlinuz" -initrd "$machine/initrd" -append "console=ttyS0 panic=-1 quiet" </dev/null 2>&1 | sed -u 's/\r$//' | tee "$machine/log"
    grep -q "^machine: all tests passed$" "$machine/log"
}
