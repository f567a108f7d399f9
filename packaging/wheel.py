#!/usr/bin/env python3
"""Python wheels that hold the program with its manual, examples and completions, and
nothing of Python.

    wheel.py metadata VERSION                  print what a wheel says of itself
    wheel.py wheel VERSION PROGRAM TAG DIRECTORY  make a wheel of a program

pip calls build_wheel and build_sdist, to install from the source archive: the
program is then built by make. The format is that of PEP 427, the calls are
those of PEP 517.
"""

import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: bloomdedup
Version: {version}
Summary: Print the lines that were never seen before, across runs
License: MIT
Keywords: deduplication,bloom filter,uniq
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Topic :: Text Processing :: Filters
"""


def source_version():
    with open(os.path.join(ROOT, "src/cli/version.h")) as file:
        return re.search(r'#define VERSION "(.*)"', file.read()).group(1)


def shared_files(version):
    """What `make install` puts below share/: tuples of path, bytes and mode."""
    places = [
        ("man/*.[1-8]", "man/man{section}/{name}"),
        ("man/examples/*", "doc/bloomdedup/examples/{name}"),
        ("NEWS.md", "doc/bloomdedup/{name}"),
        ("completions/bloomdedup.bash", "bash-completion/completions/bloomdedup"),
        ("completions/_bloomdedup", "zsh/site-functions/{name}"),
        ("completions/bloomdedup.fish", "fish/vendor_completions.d/{name}"),
    ]
    files = []
    for pattern, place in places:
        sources = sorted(glob.glob(os.path.join(ROOT, pattern)))
        assert sources, pattern
        for source in sources:
            name = os.path.basename(source)
            target = place.format(name=name, section=name[-1])
            with open(source, "rb") as file:
                files.append((f"bloomdedup-{version}.data/data/share/{target}",
                              file.read(), 0o644))
    return files


def write_wheel(version, program, tag, directory):
    name = f"bloomdedup-{version}-{tag}.whl"
    about = f"bloomdedup-{version}.dist-info"
    tags = "".join(
        f"Tag: py3-none-{platform}\n" for platform in tag.split("-")[2].split(".")
    )
    with open(program, "rb") as file:
        binary = file.read()
    files = [
        (f"bloomdedup-{version}.data/scripts/bloomdedup", binary, 0o755),
        *shared_files(version),
        (f"{about}/METADATA", metadata(version).encode(), 0o644),
        (
            f"{about}/WHEEL",
            b"Wheel-Version: 1.0\nGenerator: bloomdedup\n"
            b"Root-Is-Purelib: false\n" + tags.encode(),
            0o644,
        ),
    ]
    record = ""
    for path, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        record += f"{path},sha256={digest.decode().rstrip('=')},{len(data)}\n"
    record += f"{about}/RECORD,,\n"
    files.append((f"{about}/RECORD", record.encode(), 0o644))
    os.makedirs(directory, exist_ok=True)
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        for path, data, mode in files:
            # the same bytes at any time
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "-C", ROOT, "-j2"], check=True, stdout=sys.stderr)
    platform = re.sub("[^A-Za-z0-9]", "_", sysconfig.get_platform())
    return write_wheel(
        source_version(),
        os.path.join(ROOT, "bloomdedup"),
        f"py3-none-{platform}",
        wheel_directory,
    )


def build_sdist(sdist_directory, config_settings=None):
    name = f"bloomdedup-{source_version()}"
    made = re.compile(r"\./(build(/.*)?|bloomdedup|bloomdedup-.*\.tar\.gz)$")
    path = os.path.join(sdist_directory, name + ".tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.add(
            ROOT,
            name,
            filter=lambda entry: None
            if made.match("." + entry.name[len(name):])
            else entry,
        )
    return name + ".tar.gz"


if __name__ == "__main__":
    if sys.argv[1:2] == ["metadata"] and len(sys.argv) == 3:
        print(metadata(sys.argv[2]), end="")
    elif sys.argv[1:2] == ["wheel"] and len(sys.argv) == 6:
        print(write_wheel(*sys.argv[2:]))
    else:
        sys.exit(__doc__)
