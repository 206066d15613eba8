"""Documentation from Debian's packages, unpacked into a folder and served on loopback by Debian's nginx and apache2.

The packages are unpacked, not installed: no root, no package's scripts, and the same files on every machine. Every site has a name of its own under
`localhost`. The servers' access logs say what each crawler requested, in the same words for all of them.
"""

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

APACHE_MODULES = ["mpm_event", "authz_core", "alias", "autoindex", "dir", "mime", "negotiation"]
# Style sheets and scripts that several packages link to.
SHARED = ["libjs-jquery", "libjs-sphinxdoc", "libjs-underscore"]


@dataclass(frozen=True)
class Site:
    """A folder below /usr/share, the page where its crawl begins, and the program that serves it."""

    name: str
    packages: str
    folder: str
    start: str = "/"
    # nginx, nginx with `autoindex on`, or apache2 with its folder listings
    server: str = "nginx"


SITES = [
    Site("apache", "apache2-doc", "doc/apache2-doc/manual", server="apache2"),
    Site("boost", "libboost1.74-doc", "doc/libboost1.74-doc", "/doc/html/index.html"),
    Site("cmake", "cmake-doc", "doc/cmake-data/html"),
    Site("cppreference", "cppreference-doc-en-html", "cppreference/doc/html/en", "/index.html"),
    Site("django", "python-django-doc", "doc/python-django-doc/html"),
    Site("erlang", "erlang-doc", "doc/erlang-doc", "/doc/applications.html"),
    Site("gimp", "gimp-help-en", "gimp/2.0/help/en"),
    Site("git", "git-doc", "doc/git-doc"),
    Site("gtk", "libgtk-3-doc libglib2.0-doc", "gtk-doc/html", "/gtk3/index.html"),
    Site("handbook", "debian-handbook", "doc/debian-handbook/html", "/en-US/index.html"),
    Site("libstdcxx", "libstdc++-12-doc", "doc/gcc-12-base/libstdc++", "/index.html"),
    Site("linux", "linux-doc-6.1", "doc/linux-doc-6.1/html"),
    Site("nodejs", "nodejs-doc", "doc/nodejs/api"),
    Site("octave", "octave-doc", "doc/octave", "/octave.html/index.html"),
    Site("openjdk", "openjdk-17-doc", "doc/openjdk-17-jre-headless", "/api/index.html"),
    Site("policy", "debian-policy", "doc/debian-policy", "/policy.html/index.html"),
    Site("postgresql", "postgresql-doc-15", "doc/postgresql-doc-15/html"),
    Site("python", "python3.11-doc", "doc/python3.11/html"),
    Site("qt", "qtbase5-doc-html qtdeclarative5-doc-html", "qt5/doc", "/qtcore/qtcore-index.html"),
    Site("racket", "racket-doc", "doc/racket"),
    Site("reference", "debian-reference-en", "debian-reference", "/index.en.html"),
    Site("rust", "rust-doc", "doc/rust-doc/html"),
    Site("scala", "scala-doc", "doc/scala-2.11", "/api/library/index.html"),
    Site("scipy", "python-scipy-doc", "doc/python-scipy-doc/html"),
    Site("sqlalchemy", "python-sqlalchemy-doc", "doc/python-sqlalchemy-doc/html"),
    Site("sqlite", "sqlite3-doc", "doc/sqlite3"),
    Site("wx", "wx3.2-doc", "doc/wx3.2-doc/html"),
    # Folder listings: the sources of the kernel's documentation, 1,276 folders, one of them with an index.html.
    Site("listing-nginx", "linux-doc-6.1", "doc/linux-doc-6.1", server="autoindex"),
    Site("listing-apache", "linux-doc-6.1", "doc/linux-doc-6.1", server="apache2"),
]


def unpacked(home, sites):
    """Downloads and unpacks the packages of these sites, each once; the folder that then is /usr."""
    debs, tree, marks = home / "deb", home / "tree", home / "unpacked"
    for folder in (debs, tree, marks):
        folder.mkdir(parents=True, exist_ok=True)
    for package in dict.fromkeys(SHARED + [name for site in sites for name in site.packages.split()]):
        if (marks / package).exists():
            continue
        if not list(debs.glob(f"{package}_*.deb")):
            print(f"  downloading {package}", file=sys.stderr)
            downloaded(package, debs)
        (deb,) = debs.glob(f"{package}_*.deb")
        print(f"  unpacking {package}", file=sys.stderr)
        subprocess.run(["dpkg-deb", "--extract", deb, tree], check=True)
        (marks / package).write_text(deb.name + "\n")
    for site in sites:
        if not (tree / "usr" / "share" / site.folder).is_dir():
            sys.exit(f"`{site.packages}` has no folder /usr/share/{site.folder}")
    return tree / "usr"


def downloaded(package, debs):
    """Another process may be in the middle of `apt-get update`, so a failure is tried again."""
    for wait in (3, 10, 30, None):
        got = subprocess.run(["apt-get", "download", "--quiet", package], cwd=debs, capture_output=True, text=True)
        if got.returncode == 0:
            return
        if wait is None:
            sys.exit(f"`{package}` could not be downloaded:\n{got.stderr}hint: apt-get update")
        time.sleep(wait)


class Served:
    """Both servers, for as long as this lives; their logs."""

    def __init__(self, home, usr, sites):
        self.home, self.usr = home / "servers" / str(os.getpid()), usr
        self.groups = {
            "nginx": [site for site in sites if site.server != "apache2"],
            "apache2": [site for site in sites if site.server == "apache2"],
        }

    def __enter__(self):
        self.children, self.ports, self.logs = [], {}, {}
        try:
            for name, configure in (("nginx", nginx), ("apache2", apache)):
                if self.groups[name]:
                    self.start(name, configure)
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, name, configure):
        folder = self.home / name
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        log = folder / "access.log"
        log.write_text("")
        command = configure(folder, port, self.usr / "share", self.groups[name])
        said = open(folder / "said.txt", "w+")
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.children.append(child)
        for site in self.groups[name]:
            self.ports[site.name], self.logs[site.name] = port, log
        for _ in range(200):
            if child.poll() is not None:
                said.seek(0)
                errors = folder / "error.log"
                sys.exit(f"{name} did not start:\n{said.read()}{errors.read_text()[-2000:] if errors.exists() else ''}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        sys.exit(f"{name} does not listen on port {port}")

    def __exit__(self, *_):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def origin(self, site):
        return f"http://{site.name}.localhost:{self.ports[site.name]}"

    def proxy(self, site):
        """The server itself, for crawlers whose resolver does not know names under `localhost`: it answers a proxy's requests too."""
        return f"http://127.0.0.1:{self.ports[site.name]}"

    def mark(self, site):
        return self.logs[site.name].stat().st_size

    def since(self, site, mark):
        """What was requested at this site since the mark: method, path with query, status, content type."""
        time.sleep(0.3)
        found = []
        with open(self.logs[site.name], encoding="utf-8", errors="replace") as lines:
            lines.seek(mark)
            for line in lines:
                status, kind, host, request = line.rstrip("\n").split("\t")
                if host.split(":")[0] != f"{site.name}.localhost":
                    continue
                method, target = request.split(" ")[:2]
                target = re.sub(r"^https?://[^/]+", "", target) or "/"
                found.append((method, target, int(status), kind))
        return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx(folder, port, share, sites):
    temporary = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    hosts = "".join(
        f"    server {{\n        listen 127.0.0.1:{port};\n        server_name {site.name}.localhost;\n"
        f"        root {share}/{site.folder};\n{'        autoindex on;' if site.server == 'autoindex' else ''}\n    }}\n"
        for site in sites
    )
    user = f"user {getpass.getuser()};\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n"
        "events { worker_connections 512; }\n"
        "http {\n    include /etc/nginx/mime.types;\n    default_type application/octet-stream;\n"
        "    sendfile on;\n    tcp_nopush on;\n    keepalive_requests 100000;\n    server_names_hash_bucket_size 128;\n"
        '    log_format sites "$status\t$sent_http_content_type\t$host\t$request";\n'
        f"    access_log {folder}/access.log sites;\n{temporary}{hosts}}}\n"
    )
    # Debian's nginx is in sbin, which is not in every user's PATH.
    return ["/usr/sbin/nginx", "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def apache(folder, port, share, sites):
    types = Path("/etc/nginx/mime.types").read_text()
    types = re.sub(r"[{};]|\btypes\b|#.*", "", types)
    (folder / "mime.types").write_text(types)
    modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in APACHE_MODULES)
    # Apache refuses to run as root. What www-data may not read, the first request shows.
    user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
    hosts = "".join(
        f"<VirtualHost 127.0.0.1:{port}>\n    ServerName {site.name}.localhost\n    DocumentRoot {share}/{site.folder}\n</VirtualHost>\n"
        for site in sites
    )
    # The options of folders and listings are those of Debian's own configuration.
    (folder / "apache2.conf").write_text(
        f"{modules}{user}ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/apache2.pid\n"
        f"DefaultRuntimeDir {folder}\nErrorLog {folder}/error.log\nTypesConfig {folder}/mime.types\nMaxKeepAliveRequests 0\n"
        f'LogFormat "%>s\\t%{{Content-Type}}o\\t%{{Host}}i\\t%r" sites\nCustomLog {folder}/access.log sites\n'
        "DirectoryIndex index.html\n"
        "IndexOptions FancyIndexing VersionSort HTMLTable NameWidth=* DescriptionWidth=* Charset=UTF-8\n"
        f"<Directory {share}>\n    Options Indexes FollowSymLinks\n    AllowOverride None\n    Require all granted\n</Directory>\n{hosts}"
    )
    return ["/usr/sbin/apache2", "-f", str(folder / "apache2.conf"), "-D", "FOREGROUND"]
