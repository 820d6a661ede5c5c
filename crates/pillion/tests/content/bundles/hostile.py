"""Writes hostile archives made of two sound ones, and says of each why it is to be refused.

python3 -c ... RUNTIME EXPERTS FOLDER: one line of JSON for each, with `what`, `file`, `expected`.
"""

import gzip
import hashlib
import io
import json
import os
import struct
import sys
import tarfile

RUNTIME, EXPERTS, OUT = sys.argv[1:]
COUNT = 0


def case(what, expected, data, ending="tar.gz"):
    global COUNT
    COUNT += 1
    path = os.path.join(OUT, f"{COUNT}.{ending}")
    with open(path, "wb") as file:
        file.write(data)
    print(json.dumps({"what": what, "file": path, "expected": expected}))


class Bundle:
    """An archive that was taken apart."""

    def __init__(self, source):
        with tarfile.open(source) as archive:
            members = archive.getmembers()
            self.entries = [
                (m, archive.extractfile(m).read() if m.isreg() else b"") for m in members
            ]
        self.name = members[0].name
        self.manifest = json.loads(self.entries[0][1])

    def head(self, text):
        member = self.entries[0][0]
        member.size = len(text)
        self.entries[0] = (member, text)
        return self

    def at(self, end):
        return next(i for i, (m, _) in enumerate(self.entries) if m.name.endswith(end))

    def add(self, name, kind=tarfile.REGTYPE, target="", content=b"", mode=0o644, **more):
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size, member.mode = kind, target, len(content), mode
        for key, value in more.items():
            setattr(member, key, value)
        self.entries.append((member, content))
        return self

    def file(self, path, content=b"", listed=True):
        """A file that is listed as it is."""
        digest = hashlib.sha256(content).hexdigest()
        entry = {"path": path, "sha256": digest, "size_bytes": len(content)}
        if self.name.startswith("runtime"):
            entry["mode"] = "0644"
        self.manifest["files"].append(entry)
        return self.add(path, content=content) if listed else self

    def tar(self, format=tarfile.GNU_FORMAT):
        self.head(json.dumps(self.manifest).encode())
        return self.raw(format)

    def raw(self, format=tarfile.GNU_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=format) as packed:
            for member, content in self.entries:
                packed.addfile(member, io.BytesIO(content))
        return buffer.getvalue()


def packed(tar):
    return gzip.compress(tar, mtime=0)


def runtime():
    return Bundle(RUNTIME)


def experts():
    return Bundle(EXPERTS)


def sealed(bundle):
    """A manifest whose hash of the tree is right, for what is refused for another reason."""
    m = bundle.manifest
    lines = []
    for f in m["files"]:
        line = f"file\0{f.get('mode', '0644')}\0{f['size_bytes']}\0{f['sha256']}\0{f['path']}\n"
        lines.append((f["path"].encode(), line.encode("utf-8", "surrogatepass")))
    for link in m.get("links", []):
        lines.append((link["path"].encode(), f"link\0{link['target']}\0{link['path']}\n".encode()))
    digest = hashlib.sha256()
    for _, line in sorted(lines):
        digest.update(line)
    m["sha256"] = digest.hexdigest()
    return bundle


def header(
    name=b"sidecar/x", size=b"00000000000\0", kind=b"0", magic=b"ustar  \0", mode=b"0000644\0"
):
    block = bytearray(512)
    block[0 : len(name)] = name
    block[100:108] = mode
    block[108:124] = b"0000000\0" * 2
    block[124:136] = size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = magic
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def with_header(block, content=b""):
    """The runtime with one more entry that no library would write."""
    tar = runtime().tar().rstrip(b"\0")
    tar += b"\0" * (-len(tar) % 512)
    return packed(tar + block + content + b"\0" * (-len(content) % 512) + b"\0" * 1024)


# The text of manifests.
sound = runtime()
text = json.dumps(sound.manifest)
for what, changed, expected in [
    (
        "a version twice",
        text.replace('"version":', '"version": "1.0.0", "version":', 1),
        "invalid_manifest",
    ),
    (
        "a path twice in a file",
        text.replace('"path":', '"path": "python/x", "path":', 1),
        "invalid_manifest",
    ),
    ("files twice", text[:-1] + ', "files": []}', "invalid_manifest"),
    ("a byte order mark", "\ufeff" + text, "invalid_manifest"),
    ("NaN", text.replace('"size_bytes": ', '"size_bytes": NaN, "x": ', 1), "invalid_manifest"),
    (
        "infinity",
        text.replace('"size_bytes": ', '"size_bytes": 1e999, "x": ', 1),
        "invalid_manifest",
    ),
    ("a half", text.replace('"size_bytes": ', '"size_bytes": 0.5, "x": ', 1), "invalid_manifest"),
    (
        "more than 64 bits",
        text.replace('"size_bytes": ', f'"size_bytes": {1 << 64}, "x": ', 1),
        "invalid_manifest",
    ),
    (
        "the largest number",
        text.replace('"size_bytes": ', f'"size_bytes": {(1 << 64) - 1}, "x": ', 1),
        "too_large",
    ),
    (
        "a negative size",
        text.replace('"size_bytes": ', '"size_bytes": -1, "x": ', 1),
        "invalid_manifest",
    ),
    (
        "a size as a text",
        text.replace('"size_bytes": ', '"size_bytes": "1", "x": ', 1),
        "invalid_manifest",
    ),
    ("a member that nobody knows twice", text[:-1] + ', "x": 1, "x": 1}', "invalid_manifest"),
    ("deep lists", text[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "invalid_manifest"),
    (
        "deep objects",
        text[:-1] + ', "x": ' + '{"x":' * 10_000 + "1" + "}" * 10_000 + "}",
        "invalid_manifest",
    ),
    ("more behind it", text + " {}", "invalid_manifest"),
    ("a list", "[" + text + "]", "invalid_manifest"),
    ("nothing", "", "invalid_manifest"),
    ("null", "null", "invalid_manifest"),
    ("half of it", text[: len(text) // 2], "invalid_manifest"),
    ("a comment", "/* */" + text, "invalid_manifest"),
    ("zeros behind it", text + "\0" * 9, "invalid_manifest"),
    ("a future format", text.replace('"bundle-v2"', '"bundle-v3"'), "format_version"),
    ("an old format", text.replace('"bundle-v2"', '"bundle-v1"'), "format_version"),
    ("a format as a number", text.replace('"bundle-v2"', "2"), "invalid_manifest"),
    ("a type that nobody knows", text.replace('"python_runtime"', '"themes"'), "invalid_manifest"),
    ("another type", text.replace('"python_runtime"', '"experts"'), "invalid_manifest"),
    ("setuid", text.replace('"0755"', '"4755"', 1), "invalid_manifest"),
    ("for everybody to write", text.replace('"0644"', '"0666"', 1), "invalid_manifest"),
    ("no mode", text.replace('"mode": "0644"', '"x": 1', 1), "invalid_manifest"),
    (
        "a hash in capitals",
        text.replace(sound.manifest["sha256"], sound.manifest["sha256"].upper()),
        "invalid_manifest",
    ),
    (
        "a link through a link",
        text.replace('"links": [', '"links": [{"path": "python/up", "target": "lib/../../.."}, '),
        "link_outside",
    ),
    (
        "a link to itself",
        text.replace('"links": [', '"links": [{"path": "python/me", "target": "me"}, '),
        "link_outside",
    ),
    (
        "a link with a zero",
        text.replace('"links": [', '"links": [{"path": "python/z", "target": "a\\u0000b"}, '),
        "link_outside",
    ),
    (
        "another platform",
        text.replace(sound.manifest["platform"], "windows-x64"),
        "link_not_allowed",
    ),
    ("a Mac's", text.replace(sound.manifest["platform"], "macos-arm64"), "wrong_platform"),
]:
    case(what, expected, packed(runtime().head(changed.encode()).raw()))
latin = text.replace("python_runtime", "python_runt\u00efme").encode("latin-1")
case("no UTF-8", "invalid_manifest", packed(runtime().head(latin).raw()))
case("UTF-16", "invalid_manifest", packed(runtime().head(text.encode("utf-16")).raw()))
surrogate = text.replace('"core"', '"\\ud800"')
case("half a surrogate", "invalid_manifest", packed(runtime().head(surrogate.encode()).raw()))

# Paths, listed as they are.
for what, path, expected in [
    ("a zero", "python/a\0b", "bad_path"),
    ("a new line", "python/a\nb", "bad_path"),
    ("an escape", "python/\x1b[2J", "bad_path"),
    ("a backslash", "python\\a", "bad_path"),
    ("a path of Windows", "C:\\Windows\\x", "absolute_path"),
    ("a drive", "c:x", "absolute_path"),
    ("a share", "\\\\host\\share", "absolute_path"),
    ("two slashes", "python//a", "bad_path"),
    ("a dot", "./python/a", "bad_path"),
    ("two dots in the middle", "python/../../escaped", "path_traversal"),
    ("two dots of Windows", "python\\..\\..\\escaped", "path_traversal"),
    ("a slash at the end", "python/a/", "bad_path"),
    ("nothing", "", "bad_path"),
    ("a long part", "python/" + "n" * 256, "long_path"),
    ("a long path", "n/" * 512 + "n", "long_path"),
    ("below a file", "sidecar/bin/pillion/x", "below_file"),
    ("below a link", "python/bin/python3/x", "below_file"),
    ("other capitals", "SIDECAR/bin/pillion", "case_collision"),
    ("the manifest in capitals", "Runtime.Manifest.JSON", "case_collision"),
    ("the manifest", "runtime.manifest.json", "duplicate_path"),
]:
    case(what, expected, packed(sealed(runtime().file(path, listed=False)).tar()))
for what, one, other in [
    ("accents", "python/caf\u00e9", "python/cafe\u0301"),
    ("a sharp s", "python/stra\u00dfe", "python/STRASSE"),
    ("signs for units", "python/\u212a", "python/k"),
    ("a folder's accents", "python/\u00e9/a", "python/e\u0301/b"),
]:
    case(what, "case_collision", packed(sealed(runtime().file(one).file(other)).tar()))
for what, path, expected in [
    ("a dot at the end", "prompts/a.", "bad_path"),
    ("a space at the end", "prompts/a ", "bad_path"),
    ("a device", "prompts/con", "reserved_name"),
    ("a device with an ending", "prompts/NUL.txt", "reserved_name"),
    ("a port", "prompts/com1.md", "reserved_name"),
    ("a port in superscript", "prompts/LPT\u00b2", "reserved_name"),
    ("a console", "CONIN$/x", "reserved_name"),
    ("a stream", "prompts/a:b", "bad_path"),
    ("a question mark", "prompts/a?", "bad_path"),
    ("too long for Windows", "prompts/" + "a/" * 100, "long_path"),
]:
    case(f"content: {what}", expected, packed(experts().file(path, listed=False).tar()))
link = experts()
link.manifest["links"] = [{"path": "prompts/link", "target": "expert.md"}]
link.add("prompts/link", tarfile.SYMTYPE, "expert.md", mode=0o755)
case("content with a link", "unlisted_file", packed(link.tar()))
executable = experts()
executable.entries[executable.at("expert.md")][0].mode = 0o755
case("content that can be run", "file_mode", packed(executable.tar()))

# Entries that nobody listed, or listed otherwise.
for what, kind, expected in [
    ("a character device", tarfile.CHRTYPE, "special_file"),
    ("a block device", tarfile.BLKTYPE, "special_file"),
    ("a pipe", tarfile.FIFOTYPE, "special_file"),
    ("a contiguous file", tarfile.CONTTYPE, "special_file"),
    ("a sparse file", tarfile.GNUTYPE_SPARSE, "special_file"),
    ("a type that nobody knows", b"Z", "special_file"),
    ("a volume", b"V", "special_file"),
    ("a part of a file", b"M", "special_file"),
    ("a dumped folder", b"D", "special_file"),
]:
    case(what, expected, with_header(header(kind=kind)))
case(
    "a hard link to the outside",
    "hard_link",
    packed(runtime().add("sidecar/x", tarfile.LNKTYPE, "/etc/passwd").tar()),
)
hard = runtime()
hard.entries.pop(hard.at("os.py"))
hard.add("python/lib/python3.11/os.py", tarfile.LNKTYPE, "python/bin/python3.11")
case("a hard link in place of a file", "hard_link", packed(hard.tar()))
folded = runtime()
folded.manifest["links"].append({"path": "python/lib", "target": "bin"})
case("a link in place of a folder", "below_file", packed(sealed(folded).tar()))
for bits in (0o4755, 0o2755, 0o1755, 0o777, 0o700, 0o755 | 0o7000):
    changed = runtime()
    changed.entries[changed.at("sidecar/bin/pillion")][0].mode = bits
    case(f"mode {bits:o}", "file_mode", packed(changed.tar()))
foldered = runtime()
folder = tarfile.TarInfo("python")
folder.type = tarfile.DIRTYPE
foldered.entries.insert(0, (folder, b""))
case("the first entry is a folder", "no_manifest", packed(foldered.raw()))
dotted = runtime()
dotted.entries[0][0].name = "./" + dotted.name
case("the manifest is called otherwise", "no_manifest", packed(dotted.tar()))
linked = runtime()
linked.entries[0][0].type, linked.entries[0][0].linkname = tarfile.SYMTYPE, "/etc/passwd"
case("the manifest is a link", "no_manifest", packed(linked.raw()))
twice = runtime()
twice.entries.append(twice.entries[0])
case("the same manifest twice", "duplicate_path", packed(twice.raw()))
swapped = runtime()
a, b = swapped.at("module_0.py"), swapped.at("module_1.py")
swapped.entries[a], swapped.entries[b] = (
    (swapped.entries[a][0], swapped.entries[b][1]),
    (swapped.entries[b][0], swapped.entries[a][1]),
)
case("two files are swapped", "file_hash", packed(swapped.tar()))
for end in ("sidecar/bin/pillion", "bin/python3.11", "os.py"):
    changed = runtime()
    member, content = changed.entries[changed.at(end)]
    changed.entries[changed.at(end)] = (member, bytes([content[0] ^ 1]) + content[1:])
    case(f"a bit of {end}", "file_hash", packed(changed.tar()))

# Records before entries, and headers that no library writes.
for what, records, expected in [
    ("a path in a record", {"path": "../../escaped"}, "path_traversal"),
    ("a zero in a record", {"path": "python/a\0b"}, "bad_path"),
    ("a size in a record", {"size": "99999999"}, "broken_archive"),
    ("holes in a record", {"GNU.sparse.major": "1", "GNU.sparse.name": "x"}, "broken_archive"),
    ("rights in a record", {"SCHILY.xattr.security.capability": "x"}, "broken_archive"),
    ("a character set in a record", {"hdrcharset": "BINARY"}, "broken_archive"),
]:
    changed = runtime().add("sidecar/x", pax_headers=records)
    case(what, expected, packed(changed.tar(tarfile.PAX_FORMAT)))
general = io.BytesIO()
with tarfile.open(
    fileobj=general, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"path": "x"}
) as archive:
    for member, content in runtime().entries:
        archive.addfile(member, io.BytesIO(content))
case("a record for all entries", "no_manifest", packed(general.getvalue()))
case(
    "a long name with a zero",
    "bad_path",
    packed(runtime().add("sidecar/" + "x/" * 60 + "\1").tar()),
)
name = b"../" * 50 + b"escaped\0"
case(
    "a long name to the outside",
    "path_traversal",
    with_header(
        header(b"././@LongLink", b"%011o\0" % len(name), b"L"),
        name + b"\0" * (-len(name) % 512) + header(),
    ),
)
case(
    "a long name and nothing behind it",
    "broken_archive",
    with_header(header(b"././@LongLink", b"%011o\0" % 4, b"L"), b"abc\0"),
)
case(
    "a record of no length",
    "broken_archive",
    with_header(header(b"x", b"%011o\0" % 6, b"x"), b"0 a=b\n" + b"\0" * 506 + header()),
)
case("a negative size", "broken_archive", with_header(header(size=b"\xff" * 12)))
endless = header(size=b"\x80" + b"\0" * 3 + struct.pack(">Q", 1 << 62))
case("an endless size", "unlisted_file", with_header(endless))
case("no size", "broken_archive", with_header(header(size=b"no number..\0")))
case("a wrong sum", "broken_archive", with_header(header()[:148] + b"0000000\0" + header()[156:]))
prefixed = bytearray(header(b"x", magic=b"ustar\x0000"))
prefixed[345:349] = b"/etc"
prefixed[148:156] = b" " * 8
prefixed[148:156] = b"%06o\0 " % sum(prefixed)
case("an absolute prefix", "absolute_path", with_header(bytes(prefixed)))

# Around the archive.
tar = runtime().tar()
whole = packed(tar)
case("two members", "trailing_data", whole + whole)
case(
    "two members of one archive",
    "truncated",
    packed(tar[: len(tar) // 2]) + packed(tar[len(tar) // 2 :]),
)
case("an empty member first", "no_manifest", packed(b"") + whole)
case("zeros behind it", "trailing_data", whole + b"\0" * 512)
case("a signature behind it", "trailing_data", whole + b"untrusted comment: x\n")
case("a second archive in the first", "trailing_data", packed(tar + tar))
case("text behind the end", "trailing_data", packed(tar + b"more"))
case("many zeros behind the end", "trailing_data", packed(tar + b"\0" * (2 << 20)))
case("its last byte is gone", "truncated", whole[:-1])
case("its sum is wrong", "broken_archive", whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
case("its length is wrong", "broken_archive", whole[:-4] + bytes([whole[-4] ^ 1]) + whole[-3:])
case("only its magic", "truncated", whole[:10])
case("tar without compression", "unknown_format", tar, "tar.gz")
case("zip", "unknown_format", b"PK\x03\x04" + b"\0" * 100)
case("xz", "unknown_format", b"\xfd7zXZ\x00" + b"\0" * 100)
case("nothing", "truncated", b"")
case("zeros", "unknown_format", b"\0" * 4096)
MAGIC = b"\x28\xb5\x2f\xfd"
case("a window of 2 GB", "broken_archive", MAGIC + b"\x00\xa8" + b"\x01\x00\x00", "tar.zst")
case(
    "a frame that is skipped",
    "unknown_format",
    b"\x50\x2a\x4d\x18\x04\x00\x00\x00aaaa" + MAGIC,
    "tar.zst",
)
case("an empty frame", "no_manifest", MAGIC + b"\x20\x00" + b"\x01\x00\x00", "tar.zst")
case("a dictionary", "broken_archive", MAGIC + b"\x01\x50\x07" + b"\x01\x00\x00", "tar.zst")
bomb = runtime()
bomb.add("sidecar/zeros", content=b"\0" * (40 << 20))
case("a bomb of zeros", "unlisted_file", packed(bomb.tar()))
bomb = sealed(runtime().file("sidecar/zeros", b"\0" * (40 << 20)))
case("a bomb that is listed", "bomb", packed(bomb.tar()))
case(
    "a bomb in the manifest",
    "bomb",
    packed(runtime().head(text.encode() + b" " * (40 << 20)).raw()),
)
case("a bomb in a bomb", "broken_archive", packed(packed(b"\0" * (40 << 20))))
