"""What a finding looks like to a person, to a program, to GitHub and to SARIF."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.check.examples import CHAIN, EXAMPLES, GOOD_CONFIG, MODEL_PY, ensemble, model, part, tensor
from tests.check.variants import write
from triton_pyb.check import check, report
from triton_pyb.check.rules import RULES

#: As printed in many tutorials, the quote behind `image` forgotten.
TUTORIAL = """name: "ensemble_model"
platform: "ensemble"
max_batch_size: 8
input [
  {
    name: "image"
    data_type: TYPE_STRING
    dims: [ 1 ]
  }
]
output [
  {
    name: "result"
    data_type: TYPE_STRING
    dims: [ 1 ]
  }
]
ensemble_scheduling {
  step [
    {
      model_name: "preprocessing"
      model_version: -1
      input_map {
        key: "image"
        value: "image
      }
      output_map {
        key: "input_image"
        value: "input_image"
      }
    },
    {
      model_name: "postprocessing"
      model_version: -1
      input_map {
        key: "input_image"
        value: "input_image"
      }
      output_map {
        key: "result"
        value: "result"
      }
    }
  ]
}
"""


OUTPUTS = {"preprocessing": "input_image", "postprocessing": "result"}


def test_the_tutorial_with_the_missing_quote(tmp_path: Path) -> None:
    string = "data_type: TYPE_STRING dims: [ 1 ]"
    parts = {
        name: f'name: "{name}"\nbackend: "python"\nmax_batch_size: 8\ndynamic_batching {{ }}\n'
        f'input {{ name: "{one}" {string} }}\noutput {{ name: "{other}" {string} }}\n'
        for name, one, other in (("preprocessing", "image", "input_image"), ("postprocessing", "input_image", "result"))
    }
    files = {f"{name}/config.pbtxt": text for name, text in parts.items()}
    files |= {f"{name}/1/model.py": MODEL_PY.replace('"OUT"', f'"{out}"') for name, out in OUTPUTS.items()}
    write({**files, "ensemble_model/config.pbtxt": TUTORIAL, "ensemble_model/1": None}, tmp_path)
    (first,) = check(tmp_path)
    assert (first.code, first.place.line, first.place.column) == ("TPB1001", 25, 16)
    assert first.place.text == '        value: "image'
    assert first.message == 'the string that begins "image is not closed on its line: the quote " is missing'
    assert first.fix == 'write "image"'
    shown = report.text(first)
    assert f"{tmp_path}/ensemble_model/config.pbtxt:25:16: error TPB1001" in shown
    assert '  25 |         value: "image\n     |                ^^^^^^' in shown


def test_a_mismatch_shows_both_ends_and_the_broken_edge(tmp_path: Path) -> None:
    other = part("b", io=tensor("input", "IN", dtype="TYPE_FP16") + tensor("output", "OUT"))
    write(ensemble(*CHAIN, parts=(part("a"), other)), tmp_path)
    (finding,) = check(tmp_path)
    assert finding.message == "tensor 't' is TYPE_FP32 in 'a' and TYPE_FP16 in 'b' (IN)"
    ends = {message: (Path(place.file).parent.name, place.line) for message, place in finding.related}
    assert ends == {"a: TYPE_FP32 [4]": ("a", 5), "b: TYPE_FP16 [4]": ("b", 4)}
    assert finding.drawing.splitlines() == [
        "request ──X────▶ a.IN",
        "  a.OUT ──t──╳─▶ b.IN",
        "  b.OUT ──Y────▶ response",
    ]
    assert "inconsistent data type: TYPE_FP32 is inferred from model a while TYPE_FP16" in finding.said


def test_formats(tmp_path: Path) -> None:
    write(model(GOOD_CONFIG.replace("TYPE_FP32", "FP32", 1)), tmp_path)
    findings = check(tmp_path)
    text = report.render(findings, "text", models=1, release="24.10")
    assert text.endswith("1 error, 0 warnings in 1 model (Triton 24.10)\n")
    assert "did you mean 'TYPE_FP32'?" in text and "fix:  write TYPE_FP32" in text
    data = json.loads(report.render(findings, "json", models=1, release="24.10"))
    assert (data["errors"], data["warnings"], data["models"], data["release"]) == (1, 0, 1, "24.10")
    assert data["findings"][0]["code"] == "TPB1012"
    assert data["findings"][0]["triton"].startswith("Unknown enumeration value")
    assert (data["findings"][0]["line"], data["findings"][0]["column"]) == (4, 33)
    github = report.render(findings, "github").splitlines()[0]
    assert github.startswith(f"::error file={tmp_path}/m/config.pbtxt,line=4,col=33,title=TPB1012::'FP32' is no value")
    assert "%0Afix: write TYPE_FP32" in github
    sarif = json.loads(report.render(findings, "sarif"))
    (run,) = sarif["runs"]
    assert run["tool"]["driver"]["rules"][0]["id"] == "TPB1012"
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (4, 33, 37)
    assert report.exit_status(findings) == 1 and report.exit_status([]) == 0


def test_every_rule_can_be_explained() -> None:
    for code in RULES:
        told = report.explain(code)
        assert told.startswith(f"{code} (") and "Source:" in told
        filled = [line for line in told.splitlines() if line.startswith(("Fix: ", "Triton says: "))]
        assert not re.search(r"\{[a-z_]*\}", "".join(filled)), filled
    assert "Fix: write dims: [ ‹the dimensions behind the first› ], or max_batch_size: 0" in report.explain("TPB1123")
    assert "Fix: move it out of the model folder‹, and write backend›" in report.explain("TPB1511")
    assert "one axis" not in report.explain("TPB1124")
    assert all(f"### {code}\n" in report.reference() for code in RULES)


def _warned(count: int, folder: Path) -> None:
    broken = EXAMPLES["TPB1123"].broken["m/config.pbtxt"]
    for index in range(count):
        name = f"w{index}"
        assert isinstance(broken, str)
        write({f"{name}/config.pbtxt": broken.replace('"m"', f'"{name}"'), f"{name}/1/model.py": MODEL_PY}, folder)


def test_errors_come_first_and_a_warning_of_many_models_is_one_line(tmp_path: Path) -> None:
    _warned(5, tmp_path)
    bad = GOOD_CONFIG.replace('"m"', '"z"').replace("dims", "shape")
    write({"z/config.pbtxt": bad, "z/1/model.py": MODEL_PY}, tmp_path)
    findings = check(tmp_path)
    assert (findings[0].severity, findings[-1].severity) == ("warning", "error")
    shown = report.render(findings, "text")
    assert shown.rindex(": error TPB1011") < shown.index(": warning TPB1123")
    assert shown.count(": warning TPB1123") == 10

    _warned(6, tmp_path)
    findings = check(tmp_path)
    shown = report.render(findings, "text", models=7)
    assert shown.split("\n\n")[-2] == (
        "warning TPB1123 in 6 models (w0, w1, w2, w3, w4, w5): dims begin with the batch axis although "
        "max_batch_size adds one (--explain TPB1123; --format json tells each)"
    )
    assert ": warning TPB1123" not in shown and shown.endswith("2 errors, 12 warnings in 7 models\n")
    assert len(json.loads(report.render(findings, "json"))["findings"]) == 14
