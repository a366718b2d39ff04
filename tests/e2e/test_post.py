"""The recipe that posts to a pull request, against a fake gh, a fake ncu and a bare repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fake import Fake

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "examples" / "ci"
MARK = "<!-- roofline -->"
pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
BOT = "github-actions[bot]"
# Writes what post.sh reads of a report; the words that it got are its text.
STUB = f"""mkdir -p pr; printf x > pr/roofline.png; printf x > pr/roofline-dark.png
printf '%s\\n' '{MARK}' "$*" > pr/comment.md"""


class Pull:
    """A pull request: a clone of a bare repository, in which a job of GitHub Actions runs."""

    def __init__(self, folder: Path) -> None:
        self.fake = Fake(folder)
        self.fake.program("gh", f'exec {sys.executable} -S -I {ROOT}/tests/e2e/fake_gh.py "$@"')
        self.origin, self.work = folder / "origin.git", folder / "clone"
        self.summary, self.store = folder / "summary.md", folder / "comments.json"
        self.env = self.fake.environment | {
            "FAKE_GH": str(self.store),
            "GH_TOKEN": "of the job",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "kernels/fast",
            "GITHUB_RUN_ID": "11",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self.git("init", "--quiet", "--bare", str(self.origin), cwd=folder)
        self.git("clone", "--quiet", str(self.origin), str(self.work), cwd=folder)
        (self.work / ".github").mkdir()
        shutil.copy(RECIPE / "post.sh", self.work / ".github")
        self.git("add", "--all")
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        self.git(*who, "commit", "--quiet", "--message", "A change")
        self.git("push", "--quiet", "origin", "HEAD:refs/heads/main")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        argv = ["git", *words]
        done = subprocess.run(
            argv, cwd=cwd or self.work, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def step(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        """As a runner of GitHub does it."""
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.work,
            env=self.env | env,
            capture_output=True,
            text=True,
            check=False,
        )

    def post(self, **env: str) -> subprocess.CompletedProcess[str]:
        done = self.step("bash .github/post.sh 7 --baseline perf after.ncu-rep", **env)
        assert done.returncode == 0, done.stderr
        return done

    def comments(self) -> list[dict[str, Any]]:
        return json.loads(self.store.read_text()) if self.store.exists() else []

    def pictures(self) -> set[str]:
        listed = ("ls-tree", "-r", "--name-only", "roofline-pictures")
        return set(self.git(*listed, cwd=self.origin).split())


@pytest.fixture
def pull(tmp_path: Path) -> Pull:
    return Pull(tmp_path)


@pytest.fixture
def stubbed(pull: Pull) -> Pull:
    pull.fake.program("roofline", STUB)
    return pull


def test_the_comment_shows_pictures_that_are_on_a_branch_of_their_own(stubbed: Pull) -> None:
    stubbed.post()

    (comment,) = stubbed.comments()
    address = "https://github.com/kernels/fast/raw/roofline-pictures/pull-7/11-1"
    assert f"--baseline perf after.ncu-rep --image-base {address} -o pr --force" in comment["body"]
    pictures = {f"pull-7/11-1/roofline{theme}.png" for theme in ("", "-dark")}
    assert stubbed.pictures() == pictures
    assert stubbed.summary.read_text() == comment["body"]
    # The orphan's history holds nothing of the program, and the clone is left as it was.
    assert stubbed.git("rev-list", "--count", "roofline-pictures", cwd=stubbed.origin) == "2\n"
    assert len(stubbed.git("worktree", "list").splitlines()) == 1


def test_a_second_run_replaces_its_comment_and_no_one_elses(stubbed: Pull) -> None:
    others = [
        {"id": 1, "user": {"login": "reviewer"}, "body": f"{MARK}\ncopied by hand"},
        {"id": 2, "user": {"login": BOT}, "body": "of another job"},
    ]
    stubbed.store.write_text(json.dumps(others))
    stubbed.post()
    stubbed.post(GITHUB_RUN_ID="12")

    assert stubbed.comments()[:2] == others
    (comment,) = stubbed.comments()[2:]
    assert "pull-7/12-1" in comment["body"]
    assert {name.split("/")[1] for name in stubbed.pictures()} == {"12-1"}


def test_a_step_that_runs_twice_leaves_what_it_left(stubbed: Pull) -> None:
    stubbed.post()
    once = stubbed.comments(), stubbed.pictures()

    done = stubbed.post()

    assert done.stderr == ""
    assert (stubbed.comments(), stubbed.pictures()) == once
    assert stubbed.git("rev-list", "--count", "roofline-pictures", cwd=stubbed.origin) == "2\n"


def test_another_job_that_pushes_meanwhile_loses_nothing(stubbed: Pull) -> None:
    other = stubbed.work.parent / "other"
    hook = stubbed.work / ".git" / "hooks" / "pre-push"
    hook.write_text(
        f"""#!/bin/bash
set -e
unset "${{!GIT_@}}"
rm "$0"
export GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b
git init --quiet {other} && cd {other}
mkdir pull-8 && touch pull-8/roofline.png && git add . && git commit --quiet -m other
git push --quiet {stubbed.origin} HEAD:refs/heads/roofline-pictures
"""
    )
    hook.chmod(0o755)

    stubbed.post()

    assert not hook.exists()
    assert {name.split("/")[0] for name in stubbed.pictures()} == {"pull-7", "pull-8"}


def test_without_rights_the_summary_has_the_text_and_warnings_say_why(stubbed: Pull) -> None:
    refuse = stubbed.origin / "hooks" / "pre-receive"
    refuse.write_text("#!/bin/sh\nexit 1\n")
    refuse.chmod(0o755)

    done = stubbed.post(FAKE_GH_REFUSES="yes")

    assert done.stderr.count("::warning title=roofline::") == 2
    assert stubbed.comments() == []
    assert "after.ncu-rep" in stubbed.summary.read_text()
    # No picture that cannot be fetched: neither below an address nor beside the text.
    assert "--no-picture -o pr --force" in stubbed.summary.read_text()
    assert "--image-base" not in stubbed.summary.read_text()


def test_what_was_read_in_part_is_posted_and_fails_the_step(pull: Pull) -> None:
    pull.fake.program("roofline", f"{STUB}; exit 3")

    done = pull.step("bash .github/post.sh 7 after.ncu-rep")

    assert done.returncode == 3
    assert len(pull.comments()) == 1
    assert pull.pictures()


def test_a_report_that_cannot_be_read_fails_the_step(pull: Pull) -> None:
    pull.fake.program("roofline", "exit 3")

    assert pull.step("bash .github/post.sh 7 after.ncu-rep").returncode == 3
    assert pull.comments() == []


def test_gates_are_judged_where_the_post_fails(pull: Pull) -> None:
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load((RECIPE / "performance.yml").read_text("utf-8"))["jobs"]["judge"][
        "steps"
    ]
    ran = {}
    pull.fake.program("roofline", f"echo $1 >> ran; [ $1 != report ] || {{ {STUB}; exit 3; }}")
    for step in (step for step in steps if step.get("name") in ("Post", "Share", "Gates")):
        if not any(ran.values()) or step.get("if") == "${{ !cancelled() }}":
            ran[step["name"]] = pull.step(step["run"], PULL_REQUEST="7").returncode

    assert ran == {"Post": 3, "Share": 0, "Gates": 0}
    assert (pull.work / "ran").read_text().split() == ["report", "redact", "compare"]


@pytest.mark.slow
def test_the_workflow_from_the_installation_to_the_gates(
    pull: Pull, environment: Callable[[Path], Path], wheel: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((RECIPE / "performance.yml").read_text("utf-8"))["jobs"]
    venv = environment(pull.work.parent / "venv")
    env = {"PATH": f"{venv / 'bin'}:{pull.env['PATH']}", "PULL_REQUEST": "7"}
    env |= {"ROOFLINE": str(wheel), "PYTHONPATH": f"{venv / 'needed'}", "PIP_NO_INDEX": "1"}
    for side, name in (("before", "perf"), ("after", "made")):
        sample = ROOT / "sample_reports" / f"a100_transpose_{side}.ncu-rep"
        shutil.copy(sample, pull.work.parent / f"{name}.ncu-rep")  # what the fake ncu "captures"
    (pull.work / "bench.py").touch()
    ran = []
    for step in (step for job in ("capture", "judge") for step in jobs[job]["steps"]):
        if "run" not in step:
            continue
        script = step["run"].replace("gemm,attention", "transpose")
        done = pull.step(script, **env)
        assert done.returncode == 0, (step["name"], done.stdout, done.stderr)
        ran.append(step["name"])
        if ran == ["Install"]:
            assert (pull.work / ".roofline" / "bin" / "roofline").exists()
            begin = (
                ".roofline/bin/roofline compare --baseline perf --update-baseline ../perf.ncu-rep"
            )
            done = pull.step(begin, **env, GITHUB_STEP_SUMMARY="")
            assert done.returncode == 0, done.stderr

        if ran[-1] in ("Share", "Gates"):  # again where a machine keeps its folder
            done = pull.step(script, **env)
            assert done.returncode == 0, (step["name"], done.stdout, done.stderr)

    assert ran == ["Install", "Capture", "Install", "Post", "Share", "Gates"]
    (comment,) = pull.comments()
    assert "2.28x faster" in comment["body"]
    assert "/raw/roofline-pictures/pull-7/11-1/roofline.png" in comment["body"]
    assert len(pull.pictures()) == 2
    assert comment["body"] in pull.summary.read_text()
    assert {path.name for path in pull.work.glob("*.*")} >= {"gates.xml", "shared.ncu-rep"}
