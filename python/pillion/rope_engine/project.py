"""A project of Rope's in memory: a handful of texts, and no file."""

from __future__ import annotations

from typing import Any

from rope.base import exceptions
from rope.base import project as rope
from rope.base.fscommands import FileSystemCommands
from rope.base.prefs import Prefs
from rope.base.resourceobserver import ChangeIndicator
from rope.base.resources import File, Folder, _ResourceMatcher


class _Commands(FileSystemCommands):
    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def read(self, path: str) -> bytes:
        return self.texts[path.lstrip("/")].encode()

    def _never(self, *_: Any) -> None:
        message = "a refactoring tried to write"
        raise AssertionError(message)

    create_file = create_folder = move = remove = write = _never


class _Indicator(ChangeIndicator):
    def get_indicator(self, _resource: Any) -> tuple[int, int]:
        return (0, 0)


class _File(File):
    def read(self) -> str:
        return self.project.fscommands.texts[self.path]

    # Rope takes text as well, and then has nothing to decode.
    read_bytes = read

    def exists(self) -> bool:
        return self.path in self.project.fscommands.texts


class _Folder(Folder):
    def exists(self) -> bool:
        return True

    def get_children(self) -> list[Any]:
        below = self.path + "/" if self.path else ""
        paths = [p for p in self.project.fscommands.texts if p.startswith(below)]
        names = sorted({p[len(below) :].split("/")[0] for p in paths})
        return [self.get_child(name) for name in names]


class Project(rope.Project):
    """A few texts that Rope takes for a project."""

    def __init__(self, texts: dict[str, str], indent: int = 4) -> None:
        # Not that of Rope's project, which reads configuration and looks at folders.
        rope._Project.__init__(self, _Commands(texts))
        self._address = "/"
        self._ropefolder_name = None
        self.ignored = _ResourceMatcher()
        self.file_list = rope._FileListCacher(self)
        self.prefs = Prefs(indent_size=indent, save_objectdb=False, automatic_soa=False)
        self.pycore.observer.timekeeper = _Indicator()

    def get_resource(self, resource_name: str) -> Any:
        """A text, or a folder that texts are in."""
        texts = self.fscommands.texts
        if resource_name in texts:
            return _File(self, resource_name)
        below = resource_name + "/"
        if not resource_name or any(path.startswith(below) for path in texts):
            return _Folder(self, resource_name)
        raise exceptions.ResourceNotFoundError(resource_name)

    def get_file(self, path: str) -> _File:
        """A text that may not exist."""
        return _File(self, path)

    def get_folder(self, path: str) -> _Folder:
        """A folder that may not exist."""
        return _Folder(self, path)

    def get_source_folders(self) -> list[Any]:
        """Where modules are looked for: in the root, or in `src`."""
        tops = [self.get_resource("")]
        return [*tops, *(child for child in tops[0].get_folders() if child.name == "src")]

    def get_python_path_folders(self) -> list[Any]:
        """No module outside of the project is looked at."""
        return []
