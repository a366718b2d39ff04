"""The causes that ncu itself prints, from the fake ncu to the message and the exit code."""

from __future__ import annotations

import pytest

from roofline.capture.failures import catalogue
from tests.capture.test_failures import ERROR, EXIT, NONE, SEEN
from tests.e2e.fake import PROFILED, Fake

# The place of the test decides which permission it is; the driver's may be a taken counter too.
PERMISSIONS = {code for code in catalogue() if code.startswith("permission")}
MAY_BECOME = {
    "permission": PERMISSIONS - {"permission_vgpu"},
    "counters_taken": PERMISSIONS | {"counters_taken"},
}
CAUSES = [
    "permission", "permission_vgpu", "counters_taken", "driver_incompatible", "gpu_unsupported",
    "mig_shared", "replay_memory", "disk_full", "tmpdir", "lock_file",
]  # fmt: skip
# By cause: the first line that ncu is seen to print for it alone.
LINES = {cause: log[0] for log, _, _, cause in reversed(SEEN) if len(log) == 1}


@pytest.mark.slow
@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_becomes_one_message_and_exit_code_4(fake: Fake, cause: str) -> None:
    line, codes = LINES[cause], MAY_BECOME.get(cause, {cause})
    fake.scenario({"log": [line, EXIT.format(1), NONE], "exit": 1})

    done = fake.run("profile", "--quiet", "true")

    assert done.returncode == 4, done.stderr
    (code,) = [c for c in catalogue() if f"[{c}]" in done.stderr]
    assert code in codes
    failure = catalogue()[code]
    assert done.stderr.count("[") == 1 + failure.you.count("[")
    assert f"evidence: {line}" in done.stderr
    assert f"try: {failure.you.partition('roofline profile')[0]}" in done.stderr
    if failure.admin:
        assert f"administrator: {failure.admin}" in done.stderr
    assert "meanwhile: " in done.stderr
    assert "Traceback" not in done.stderr
    # ncu's log is kept and no report is made up.
    assert fake.files() == {"true.ncu-rep.log"}


@pytest.mark.slow
def test_what_was_profiled_before_ncu_failed_is_kept_and_said_to_be_partial(fake: Fake) -> None:
    line = ERROR + "Insufficient memory and disk space to save context state!"
    fake.scenario({"log": [PROFILED, line, EXIT.format(1)], "exit": 1, "report": str(fake.report)})

    done = fake.run("profile", "--quiet", "true")

    assert "Partial: " in done.stdout
    assert "true.ncu-rep" in fake.files()
    assert done.returncode == 0
