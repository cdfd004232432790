"""Rules about the file system and about the repository as a whole; and whatever else may lie in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.check.examples import ENSEMBLE, GOOD_CONFIG, MODEL_PY, ensemble, model, part, tensor
from tests.check.variants import write
from triton_pyb.check import TargetError, check
from triton_pyb.check.finding import Finding


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def test_unreadable_configurations(tmp_path: Path) -> None:
    for name in ("dangling", "loop", "fifo", "socket"):
        (tmp_path / name / "1").mkdir(parents=True)
    (tmp_path / "dangling" / "config.pbtxt").symlink_to("nowhere")
    (tmp_path / "loop" / "config.pbtxt").symlink_to("config.pbtxt")
    os.mkfifo(tmp_path / "fifo" / "config.pbtxt")
    os.mkfifo(tmp_path / "socket" / "config.pbtxt")
    found = check(tmp_path, select=["TPB1030"])
    assert [finding.model for finding in found] == ["dangling", "fifo", "loop", "socket"]
    assert "Too many levels" in found[2].message
    assert found[1].message == "config.pbtxt cannot be read: it is no regular file"


def test_a_link_to_nothing_hides_the_model(tmp_path: Path) -> None:
    write(model(), tmp_path)
    (tmp_path / "m" / "1" / "weights").symlink_to("nowhere")
    assert check(tmp_path) == []
    (tmp_path / "m" / "data").symlink_to("nowhere")
    (tmp_path / "m" / "loop").symlink_to("loop")
    found = check(tmp_path)
    assert [(f.code, f.stage, os.path.basename(f.place.file)) for f in found] == [
        ("TPB1515", "poll", "data"),
        ("TPB1515", "poll", "loop"),
    ]
    assert found[0].message.startswith("'data' is a link to nowhere, which does not exist")


def test_config_that_is_a_folder_kills_the_server(tmp_path: Path) -> None:
    (tmp_path / "m" / "config.pbtxt").mkdir(parents=True)
    (found,) = check(tmp_path, select=["TPB1031"])
    assert found.stage == "crash" and "the whole server dies" in found.message


def test_huge_config_is_read_in_part(tmp_path: Path) -> None:
    write(model(GOOD_CONFIG + "# filler\n" * 600_000), tmp_path)
    findings = check(tmp_path)
    assert codes(findings) == {"TPB1032"}
    (tmp_path / "m" / "config.pbtxt").write_bytes(b"\x8f\x00random" * 2_000_000)
    assert "TPB1018" in codes(check(tmp_path))


def test_model_in_two_repositories(tmp_path: Path) -> None:
    write(model(), tmp_path / "one")
    write(model(), tmp_path / "two")
    (found,) = check([tmp_path / "one", tmp_path / "two"])
    assert (found.code, found.said) == ("TPB1509", "model appears in two or more repositories")
    assert found.place.file == str(tmp_path / "two" / "m")
    assert found.related[0][1].file == str(tmp_path / "one" / "m")
    assert check([tmp_path / "one"]) == []


def test_repository_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    write(model(), tmp_path / "repository")
    missing = check(tmp_path / "nowhere")
    assert [(f.code, f.severity) for f in missing] == [("TPB1512", "error")]
    assert check(tmp_path / "file")[0].message == "the model repository is not a folder"
    assert [(f.code, f.severity) for f in check(tmp_path / "empty")] == [("TPB1512", "warning")]
    inside = check(tmp_path / "repository" / "m")
    assert ("TPB1513", "'m' is a model folder: it holds a config.pbtxt") in [(f.code, f.message) for f in inside]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_folder_without_rights(tmp_path: Path) -> None:
    write(model(), tmp_path)
    (tmp_path / "m").chmod(0)
    try:
        assert "TPB1514" in codes(check(tmp_path))
    finally:
        (tmp_path / "m").chmod(0o755)


def test_strange_names_come_out_printable(tmp_path: Path) -> None:
    for name in ("with\nnewline", "tab\t", "\udcff\udcfe", "a" * 200, "-", "..."):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text(MODEL_PY)
        (tmp_path / name / "config.pbtxt").write_text(GOOD_CONFIG)
    from triton_pyb.check import report

    findings = check(tmp_path)
    assert {finding.code for finding in findings} >= {"TPB1101", "TPB1507", "TPB1508"}
    for style in report.FORMATS:
        report.render(findings, style).encode("utf-8")
    shown = report.render(findings, "text")
    assert "with\\nnewline" in shown


def test_links_in_circles_end(tmp_path: Path) -> None:
    write(model(), tmp_path)
    (tmp_path / "m" / "1" / "again").symlink_to("..")
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "to_itself").symlink_to("to_itself")
    assert {finding.model for finding in check(tmp_path)} <= {"self", "m"}


def test_model_py_of_every_shape_ends_in_a_finding(tmp_path: Path) -> None:
    shapes = {
        "nul": b"x = 1\0\n",
        "latin": b"x = '\xff'\n",
        "cookie": b"# -*- coding: nonsense -*-\n",
        "deep": b"(" * 5000 + b")" * 5000,
        "chain": b"x = " + b"1+" * 20000 + b"1\n",
        "tabs": b"if 1:\n\tx = 1\n        y = 2\n",
    }
    for name, data in shapes.items():
        write({**model(), "m/1/model.py": data}, tmp_path / name)
        assert {f.code for f in check(tmp_path / name)} <= {"TPB1703", "TPB1704"}
        if name in ("nul", "latin", "cookie", "tabs"):
            assert "TPB1703" in codes(check(tmp_path / name)), name


def test_target_must_exist(tmp_path: Path) -> None:
    write(model(), tmp_path)
    with pytest.raises(TargetError, match="TPB710 there is no Triton release '24.13'") as release:
        check(tmp_path, release="24.13")
    assert "name a container release from 21.10" in release.value.fix
    with pytest.raises(TargetError, match="TPB711 there is no rule 'TPB9999'"):
        check(tmp_path, select=["TPB9999"])
    with pytest.raises(TargetError, match="there is no rule 'nonsense'"):
        check(tmp_path, ignore={"nonsense": "because"})


def test_select_and_ignore(tmp_path: Path) -> None:
    write(model(GOOD_CONFIG.replace("TYPE_FP32", "FP32").replace("max_batch_size: 8", 'max_batch_size: "8"')), tmp_path)
    assert codes(check(tmp_path)) == {"TPB1012", "TPB1013"}
    assert codes(check(tmp_path, select=["TPB1012"])) == {"TPB1012"}
    assert codes(check(tmp_path, ignore={"TPB1012": "known"})) == {"TPB1013"}
    assert codes(check(tmp_path, ignore={"TPB1012:other": "not here"})) == {"TPB1012", "TPB1013"}
    assert codes(check(tmp_path, ignore={"TPB10:m": "all of its text"})) == set()


def test_all_findings_of_an_ensemble_at_once(tmp_path: Path) -> None:
    files = dict(ENSEMBLE)
    files["a/config.pbtxt"] = GOOD_CONFIG.replace('"m"', '"a"').replace("TYPE_FP32", "FP32")
    text = files["e/config.pbtxt"]
    assert isinstance(text, str)
    files["e/config.pbtxt"] = text.replace('"X"', '"X', 1)
    write(files, tmp_path)
    found = {(finding.model, finding.code) for finding in check(tmp_path)}
    assert {("a", "TPB1012"), ("e", "TPB1001"), ("e", "TPB1621")} <= found


def test_release_21_10_lacks_what_came_later(tmp_path: Path) -> None:
    config = GOOD_CONFIG.replace("dims: [ 4 ]", "dims: [ 4 ] optional: true", 1)
    source = (
        MODEL_PY + "\n\ndef names(x: list[str]) -> dict[str, int]:\n    return {n.removeprefix('a'): 1 for n in x}\n"
    )
    write(model(config, source), tmp_path)
    old = check(tmp_path, release="21.10")
    assert {(f.code, f.severity) for f in old} == {("TPB1801", "error"), ("TPB1805", "error"), ("TPB1805", "warning")}
    assert codes(check(tmp_path, release="23.05")) == set()
    assert "field 'optional' needs release 22.01; the target is 21.10" in [f.message for f in old]


def test_a_true_copy_of_pb_utils_is_a_warning(tmp_path: Path) -> None:
    copy = "def deserialize_bytes_tensor(encoded):\n    ...\n"
    write(model(m__1__triton_python_backend_utils_DOT_py=copy), tmp_path)
    assert [(f.code, f.severity) for f in check(tmp_path)] == [("TPB1742", "warning")]


def test_os_exit_in_initialize_is_noticed_by_the_server(tmp_path: Path) -> None:
    source = "import os\n" + MODEL_PY + "\n    def initialize(self, args):\n        os._exit(3)\n"
    write(model(source=source), tmp_path)
    (found,) = check(tmp_path)
    assert (found.code, found.stage) == ("TPB1707", "load")
    assert found.said == "Internal: Stub process 'm_0' is not healthy."


def test_names_that_a_shell_changes(tmp_path: Path) -> None:
    """Measured on 24.10: these hang the start of the server, the others load."""
    broken = [f"m{c}x" for c in (";", "(", ")", "'", '"', "&", "|", "<", ">", "`", "$", " ", "{a,b}", "*")] + ["m\\\\x"]
    fine = [f"m{c}x" for c in "#~!%=+@^:,-._"] + ["m[x]x", "m{a}x"]
    for name in (*broken, *fine):
        write(
            {f"{name}/config.pbtxt": GOOD_CONFIG.replace('name: "m"\n', ""), f"{name}/1/model.py": MODEL_PY}, tmp_path
        )
    found = {finding.model for finding in check(tmp_path, select=["TPB1507"])}
    assert found == set(broken)


def test_tensors_of_ensembles_are_checked_as_those_of_models(tmp_path: Path) -> None:
    """Measured on 24.10, with and without --disable-auto-complete-config."""
    e = ensemble(io=tensor("input", "X", "0") + tensor("output", "Y"), parts=(part("a", io=_ANY + _OUT),))
    write(e, tmp_path)
    said = "model input 'X' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for e"
    (loading,) = check(tmp_path)
    assert (loading.code, loading.stage, loading.said) == ("TPB1111", "load", "Invalid argument: " + said)
    (polling,) = check(tmp_path, strict=True)
    assert (polling.code, polling.stage, polling.said) == ("TPB1111", "poll", said)


_ANY, _OUT = tensor("input", "IN", "-1"), tensor("output", "OUT")


NEWER = """from __future__ import annotations

from triton_pyb import model

TABLE = dict[str, int]


@model
def f(x: float, names: dict[str, int] | None = None) -> float:
    local: list[int] | None = None
    match x:
        case 1.0:
            return 2.0
    return x
"""


def test_modules_of_a_built_model_are_read(tmp_path: Path) -> None:
    """Its model.py names none of them; annotations that nobody evaluates need nothing."""
    files = {**model(), "m/1/app.py": NEWER, "m/1/triton_pyb/runtime/new.py": NEWER, "m/1/package/deep.py": NEWER}
    write(files, tmp_path / "by_hand")
    assert check(tmp_path / "by_hand", release="21.10") == []  # nothing imports them
    write({**files, "m/1/triton_pyb.json": "{}"}, tmp_path / "built")
    assert check(tmp_path / "built") == []
    found = check(tmp_path / "built", release="21.10")
    assert {(f.code, f.severity) for f in found} == {("TPB1805", "error")}
    assert [(Path(f.place.file).name, f.place.line, f.message.split(" needs")[0]) for f in found] == [
        ("app.py", 5, "dict[str, int]"),
        ("app.py", 11, "match"),
        ("deep.py", 5, "dict[str, int]"),
        ("deep.py", 11, "match"),
    ]
    assert found[0].said == "Internal: TypeError: 'type' object is not subscriptable"
    assert found[1].said == "Internal: SyntaxError: invalid syntax"
    uses = "import triton_python_backend_utils as pb_utils\n\n\ndef f():\n    return pb_utils.Logger\n"
    write({**model(), "m/1/triton_pyb.json": "{}", "m/1/app.py": uses}, tmp_path / "api")
    assert [(f.code, f.place.line) for f in check(tmp_path / "api", release="21.10")] == [("TPB1803", 5)]


@pytest.mark.parametrize(
    ("line", "is_newer"),
    [
        ("X = list[int]", True),
        ("x: dict[str, int] = {}", True),
        ("class A(dict[str, int]): pass", True),
        ("list = [1]; X = list[0]", False),
        ("if sys.version_info >= (3, 9): X = list[int]", False),
        ("def f():\n    x: list[int] = []", False),
    ],
)
def test_generic_types_outside_of_signatures(line: str, is_newer: bool, tmp_path: Path) -> None:
    write({**model(), "m/1/model.py": MODEL_PY + "\nimport sys\n" + line + "\n"}, tmp_path)
    assert [f.code for f in check(tmp_path, release="21.10")] == ["TPB1805"] * is_newer
