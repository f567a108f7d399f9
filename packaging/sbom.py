#!/usr/bin/env python3
"""What a program was linked with, as a software bill of materials (SPDX 2.3).

    sbom.py VERSION PROGRAM MAP [ROOT]

MAP is the linker's. Its libraries belong to Debian's packages, which are
installed or, below ROOT, were unpacked by packaging/libraries.
"""
import datetime
import glob
import hashlib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LICENSES = {
    "libc": "LGPL-2.1-or-later",
    "libm": "LGPL-2.1-or-later",
    "libmvec": "LGPL-2.1-or-later",
    "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc_s": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc_eh": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libz": "Zlib",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "libhiredis": "BSD-3-Clause",
    "libhiredis_ssl": "BSD-3-Clause",
    "libssl": "Apache-2.0",
    "libcrypto": "Apache-2.0",
    "libevent_core": "BSD-3-Clause",
    "xxhash": "BSD-2-Clause",
}


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def owner(path, root):
    """The package that a file is from: its name, version and machine."""
    path = os.path.realpath(path)
    form = "${Package} ${Version} ${Architecture}"
    if root and path.startswith(os.path.realpath(root) + "/"):
        inside = "." + path[len(os.path.realpath(root)):]
        for package in glob.glob(os.path.dirname(root) + "/packages/*/*.deb"):
            if inside in output("dpkg-deb", "--contents", package):
                return output("dpkg-deb", "--show", "--showformat=" + form,
                              package).split()
    for name in path, path.removeprefix("/usr"):
        found = subprocess.run(["dpkg-query", "--search", name], text=True,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout
        if found:
            return output("dpkg-query", "--show", "--showformat=" + form,
                          found.split(": ")[0].split(",")[0]).split()
    sys.exit("sbom.py: %s is from no package" % path)


def linked(program, map_file):
    """The libraries of a program: the file, and how it is linked."""
    with open(map_file, errors="replace") as file:
        text = file.read()
    for archive in set(re.findall(r"^(\S+\.a)\(", text, re.MULTILINE)):
        yield archive, "STATIC_LINK"
    # the map has those, too, that turned out not to be needed
    needed = re.findall(r"\[(\S+)\.so[.0-9]*\]",
                        output("readelf", "-d", program))
    for shared in set(re.findall(r"^LOAD (\S+\.so[.0-9]*)$", text,
                                 re.MULTILINE)):
        if os.path.basename(shared).split(".so")[0] in needed:
            yield shared, "DYNAMIC_LINK"


def main(version, program, map_file, root=None):
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    date = os.environ.get("SOURCE_DATE_EPOCH") or output(HERE + "/date")
    created = datetime.datetime.fromtimestamp(int(date), datetime.timezone.utc)
    packages = [{
        "SPDXID": "SPDXRef-bloomdedup",
        "name": "bloomdedup",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseDeclared": "MIT",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-bloomdedup")]
    # xxHash is a header
    header = (root or "") + "/usr/include/xxhash.h"
    for path, relation in sorted([*linked(program, map_file),
                                 (header, "STATIC_LINK")]):
        name = re.sub(r"(-[0-9.]+)?\.(a|h|so[.0-9]*)$", "",
                      os.path.basename(path))
        package, package_version, machine = owner(path, root)
        identity = "SPDXRef-" + name.replace("_", "-")
        if identity in [known["SPDXID"] for known in packages]:
            continue
        packages.append({
            "SPDXID": identity,
            "name": name,
            "versionInfo": package_version,
            "supplier": "Organization: Debian",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseDeclared": LICENSES.get(name, "NOASSERTION"),
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": "pkg:deb/debian/%s@%s?arch=%s" % (
                    package, package_version, machine),
            }],
        })
        relations.append(("SPDXRef-bloomdedup", relation, identity))
    json.dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "bloomdedup-" + version,
        "documentNamespace": "https://spdx.org/spdxdocs/bloomdedup-%s-%s" % (
            version, digest),
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: packaging/sbom.py"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": relation,
             "relatedSpdxElement": other}
            for one, relation, other in relations],
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
