"""From a target to model folders: what lies in them, always the same, and each for itself."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import text_format

import triton_pyb
from triton_pyb.config.model_config import ModelConfig
from triton_pyb.repository import BuildError, build
from triton_pyb.runtime.signature import Signature

from .applications import tree
from .conftest import STEP, Write

PIPELINE = """
    from __future__ import annotations
    from typing import Any
    import numpy as np
    import words
    from triton_pyb import Annotated, Json, Name, Pipeline, Tensor, TorchScriptModel, postprocess, preprocess

    @preprocess
    def before(text: str) -> Annotated[np.ndarray, Tensor("FP32", (3,), name="INPUT__0")]:
        return np.full(3, len(text), np.float32)

    @postprocess(batch="stack")
    def after(
        OUTPUT__0: Annotated[np.ndarray, Tensor("FP32", (2,))]
    ) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="result")]:
        return OUTPUT__0 * words.FACTOR

    core = TorchScriptModel("core", "core.pt", {"INPUT__0": Tensor("FP32", (3,))}, {"OUTPUT__0": Tensor("FP32", (2,))})
    pipeline = Pipeline("whole", [before, core, after], max_batch_size=16, max_queue_delay_microseconds=100)
"""
FILES = {"app.py": PIPELINE, "words.py": "FACTOR = 2\n", "core.pt": "torch", "unrelated.py": "x = 1\n"}


def config(folder: Path) -> ModelConfig:
    return text_format.Parse((folder / "config.pbtxt").read_text(encoding="utf-8"), ModelConfig())


def test_a_pipeline_becomes_four_model_folders(write: Write, tmp_path: Path) -> None:
    built = build(f"{write(**FILES)}/app.py:pipeline", tmp_path / "models")
    assert built.models == ("before", "core", "after", "whole") and built.entry == "whole"
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["after", "before", "core", "whole"]
    before = set(tree(tmp_path / "models/before"))
    assert {"config.pbtxt", "1/model.py", "1/signature.json", "1/app.py", "1/words.py"} <= before
    assert "1/unrelated.py" not in before and not [name for name in before if "__pycache__/" in name]
    runtime = {name for name in before if name.startswith("1/triton_pyb/")}
    package = Path(triton_pyb.__file__).parent
    assert runtime == {"1/triton_pyb/__init__.py"} | {
        f"1/triton_pyb/runtime/{path.name}" for path in (package / "runtime").glob("*.py")
    }
    assert (tmp_path / "models/core/1/model.pt").read_bytes() == b"torch"
    assert (tmp_path / "models/whole/1").is_dir()


def test_the_configurations_fit_together(write: Write, tmp_path: Path) -> None:
    build(f"{write(**FILES)}/app.py:pipeline", tmp_path / "models")
    whole = config(tmp_path / "models/whole")
    assert whole.platform == "ensemble" and whole.max_batch_size == 16
    assert [step.model_name for step in whole.ensemble_scheduling.step] == ["before", "core", "after"]
    for name in ("before", "core", "after"):
        step = config(tmp_path / "models" / name)
        assert step.name == name and step.max_batch_size == 16
        assert step.dynamic_batching.max_queue_delay_microseconds == 100
    assert config(tmp_path / "models/core").platform == "pytorch_libtorch"


def test_the_signature_travels(write: Write, tmp_path: Path) -> None:
    build(f"{write(**FILES)}/app.py:pipeline", tmp_path / "models")
    data = json.loads((tmp_path / "models/after/1/signature.json").read_text(encoding="utf-8"))
    signature = Signature.from_dict(data)
    assert (signature.function, signature.batch) == ("app:after", "stack")


def test_the_generated_file_is_short_and_says_where_it_comes_from(write: Write, tmp_path: Path) -> None:
    build(f"{write(**FILES)}/app.py:pipeline", tmp_path / "models")
    text = (tmp_path / "models/before/1/model.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 8))
    assert len(text.splitlines()) <= 25 and "app:before" in text and "@" not in text and triton_pyb.__version__ in text


def test_same_input_same_bytes(write: Write, tmp_path: Path) -> None:
    """Twice from one checkout, and from another checkout in another folder, by another process."""
    one = write("checkout", **FILES)
    other = write("elsewhere/deeper/checkout", **FILES)
    trees = []
    for number, folder in enumerate((one, one, other)):
        repository = tmp_path / f"models{number}"
        if folder is other:
            program = "import sys; from triton_pyb.repository import build; build(*sys.argv[1:])"
            target = f"{folder}/app.py:pipeline"
            subprocess.run([sys.executable, "-c", program, target, str(repository)], check=True, cwd=tmp_path)
        else:
            build(f"{folder}/app.py:pipeline", repository)
        trees.append(tree(repository))
    assert trees[0] == trees[1]
    assert trees[0] == trees[2]
    for name, content in trees[0].items():
        assert str(tmp_path).encode() not in content, name


def test_a_second_build_over_the_first_changes_nothing(write: Write, tmp_path: Path) -> None:
    target = f"{write(**FILES)}/app.py:pipeline"
    build(target, tmp_path / "models")
    before = tree(tmp_path / "models")
    build(target, tmp_path / "models")
    assert tree(tmp_path / "models") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["author", "models"]


def test_one_step_alone(write: Write, tmp_path: Path) -> None:
    built = build(f"{write(**{'app.py': STEP})}/app.py", tmp_path / "models")
    assert (built.entry, built.models) == ("shout", ("shout",))
    assert config(tmp_path / "models/shout").max_batch_size == 8 and built.notes == ()


@pytest.mark.parametrize("said, size", [("(max_batch_size=0)", 0), ("(max_batch_size=3)", 3), ("()", 8)])
def test_the_batch_size_of_a_step_alone(write: Write, tmp_path: Path, said: str, size: int) -> None:
    text = STEP.replace("@preprocess", f"@preprocess{said}")
    built = build(f"{write(**{'app.py': text})}/app.py", tmp_path / "models")
    assert config(tmp_path / "models/shout").max_batch_size == size
    joins = "max_batch_size is 0: the server never joins requests; set max_batch_size=8 to let it"
    assert (joins in built.notes) == (size == 0)


def test_instances_are_written(write: Write, tmp_path: Path) -> None:
    text = STEP.replace("@preprocess", "@preprocess(instances=3)")
    build(f"{write(**{'app.py': text})}/app.py", tmp_path / "models")
    (group,) = config(tmp_path / "models/shout").instance_group
    assert group.count == 3


def test_instances_said_twice(write: Write, tmp_path: Path) -> None:
    options = "ModelOptions(instance_group=[InstanceGroup(count=2)])"
    text = STEP.replace("@preprocess", f"@preprocess(instances=3, config={options})")
    words = "    from triton_pyb.runtime.model_options import InstanceGroup, ModelOptions\n    from triton_pyb"
    text = text.replace("    from triton_pyb", words, 1)
    error = mistake(f"{write(**{'app.py': text})}/app.py", tmp_path / "models", "TPB443")
    assert error.what == "'shout' says instances=3 and config= an instance_group" and error.fix == "say it once"


def test_a_generator_is_a_decoupled_model(write: Write, tmp_path: Path) -> None:
    text = STEP.replace('-> Annotated[str, Name("loud")]', '-> Iterator[Annotated[str, Name("loud")]]')
    text = text.replace("return text.upper()", "yield text").replace(
        "    from triton", "    from typing import Iterator\n    from triton", 1
    )
    build(f"{write(**{'app.py': text})}/app.py", tmp_path / "models")
    assert config(tmp_path / "models/shout").model_transaction_policy.decoupled


def test_a_step_with_a_state_per_sequence_needs_the_sequence_batcher(write: Write, tmp_path: Path) -> None:
    text = """
        from __future__ import annotations
        from triton_pyb import Annotated, Name, preprocess
        from triton_pyb.runtime.state import SequenceState

        @preprocess(sequence_idle_s=5)
        def count(text: str, seen: SequenceState[list]) -> Annotated[str, Name("n")]:
            seen.append(text)
            return str(len(seen))

        @count.start_sequence
        def begin():
            return []
    """
    build(f"{write(**{'app.py': text})}/app.py", tmp_path / "models")
    written = config(tmp_path / "models/count")
    assert written.sequence_batching.max_sequence_idle_microseconds == 5_000_000
    assert written.sequence_batching.HasField("direct") and not written.HasField("dynamic_batching")


@pytest.mark.parametrize(
    "option, ragged", [("", True), ("batch='stack'", False), ("batch='pad'", True), ("max_batch_size=0", False)]
)
def test_requests_of_different_shapes_meet_where_the_function_does_not_stack_them(
    write: Write, tmp_path: Path, option: str, ragged: bool
) -> None:
    text = f"""
        from __future__ import annotations
        import numpy as np
        from triton_pyb import Annotated, Tensor, preprocess

        @preprocess({option})
        def step(
            x: Annotated[np.ndarray, Tensor("FP32", ("L",))]
        ) -> Annotated[np.ndarray, Tensor("FP32", (1,), name="y")]:
            return x
    """
    build(f"{write(**{'app.py': text})}/app.py", tmp_path / "models")
    assert config(tmp_path / "models/step").input[0].allow_ragged_batch == ragged


def test_a_wrapped_function_is_found_by_the_name_it_was_given(write: Write, tmp_path: Path) -> None:
    text = """
        from os.path import basename
        from triton_pyb import preprocess
        base = preprocess.wrap(basename, inputs={"p": str}, outputs={"name": str}, name="base")
    """
    build(f"{write(**{'app.py': text})}/app.py", tmp_path / "models")
    data = json.loads((tmp_path / "models/base/1/signature.json").read_text(encoding="utf-8"))
    assert data["function"] == "app:base"


def mistake(target: object, repository: Path, code: str) -> BuildError:
    with pytest.raises(BuildError) as caught:
        build(target, repository)
    assert caught.value.code == code
    assert not repository.exists()
    return caught.value


def test_a_step_that_stands_in_no_file(tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    exec(
        "from triton_pyb import preprocess\n@preprocess(outputs={'out': str})\ndef step(text: str): return text\n",
        names,
    )
    error = mistake(names["step"], tmp_path / "models", "TPB404")
    assert error.what == "the step is declared in no file"
    assert error.fix == "write it into a module, not a prompt"


def test_a_step_inside_a_function(write: Write, tmp_path: Path) -> None:
    text = """
        from triton_pyb import Pipeline, preprocess
        def make():
            @preprocess(outputs={"out": str})
            def inner(text: str): return text
            return inner
        pipeline = Pipeline("p", [make()])
    """
    folder = write(**{"app.py": text})
    error = mistake(f"{folder}/app.py", tmp_path / "models", "TPB405")
    assert error.where == f"inner() ({folder}/app.py:4)"
    assert error.what == "'inner' is not at the top level of its module, so a packaged model cannot import it"
    assert error.fix == "define it at module level, and assign what wrap() returns to a module-level name"


@pytest.mark.parametrize("thing", [print, None, 3])
def test_what_is_neither_a_pipeline_nor_a_step(tmp_path: Path, thing: object) -> None:
    error = mistake(thing, tmp_path / "models", "TPB407")
    assert error.what == f"{thing!r} is neither a pipeline nor a step" and error.where == "build()"
    assert error.fix.startswith("decorate the function with @preprocess")


def test_a_module_named_like_one_of_the_standard_library(write: Write, tmp_path: Path) -> None:
    folder = write(
        **{"app.py": STEP.replace("    from triton_pyb", "    import json\n    from triton_pyb", 1), "json.py": ""}
    )
    with pytest.raises(BuildError) as caught:
        build(f"{folder}/app.py", tmp_path / "models")
    assert caught.value.code in ("TPB402", "TPB406")


def test_a_mistake_anywhere_leaves_the_repository_as_it_was(write: Write, tmp_path: Path) -> None:
    build(f"{write(**FILES)}/app.py:pipeline", tmp_path / "models")
    before = tree(tmp_path / "models")
    write(**{"words.py": "def broken(:\n"})
    with pytest.raises(BuildError):
        build(f"{tmp_path}/author/app.py:pipeline", tmp_path / "models")
    assert tree(tmp_path / "models") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["author", "models"]
