"""The runner of pages can fail: on a command, on a program, and on words that were not printed."""

import pytest

from running_pages import errorfloor_commands, run_page, same_shape


def page_of(folder, *blocks):
    path = folder / "page.md"
    path.write_text("\n\n".join(blocks) + "\n")
    return path


def fenced(kind, text):
    return f"```{kind}\n{text}\n```"


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    "blocks",
    [
        [fenced("sh", "echo begun\nfalse\necho done")],
        [fenced("sh", "errorfloor ledger show --catalogue nowhere.toml")],
        [fenced("python", "raise ValueError")],
        [fenced("python", "print('the mean is 3')"), fenced("text", "the median is 3")],
        [fenced("sh", "printf 'one\\ntwo\\n'"), fenced("text", "one")],
    ],
)
def test_what_fails_or_prints_something_else_fails_the_page(tmp_path, blocks, apart):
    with pytest.raises(AssertionError, match=r"ended with|failed with|this was printed"):
        run_page(page_of(tmp_path, *blocks), tmp_path, apart=apart, instead={})


@pytest.mark.parametrize("apart", [True, False])
def test_blocks_share_a_folder_and_variables(tmp_path, apart):
    blocks = [
        fenced('toml title="declared.toml"', "[tables]"),
        fenced("sh", "export TOKEN=ef_1a2b_x-y\ncat declared.toml"),
        fenced("text", "[tables]"),
        fenced("python", "import os\n\nprint(os.environ['TOKEN'], open('declared.toml').close())"),
        fenced("text", "ef_0000_z None"),
    ]
    run_page(page_of(tmp_path, *blocks), tmp_path, apart=apart, instead={})


def test_numbers_and_identifiers_may_differ_and_words_may_not():
    assert same_shape("mean 3.1 ± 0.5 kWh\n… key 0123456789ab", "mean   17 ± 2 kWh\nand more key ffff00001111")
    assert not same_shape("mean 3.1 ± 0.5 kWh", "mean 3.1 ± 0.5 kW")
    assert not same_shape("exit code 3", "exit code")


def test_what_needs_a_shell_is_left_to_it():
    assert errorfloor_commands("errorfloor price 'SELECT avg(x) FROM t WHERE y > 3' --max-error 1") is not None
    for text in ("errorfloor ledger export | head", "X=1 errorfloor demo", "errorfloor audit || true", "ls"):
        assert errorfloor_commands(text) is None
