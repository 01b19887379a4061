"""`penstock completion bash|zsh|fish`: a script that completes the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

_BASH = """\
_penstock() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{cases}
    *) words="{actions}" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _penstock penstock
"""


def add_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    whole: Callable[[], argparse.ArgumentParser],
) -> None:
    """Add the command.

    :param whole: returns the parser of the whole command line.
    """
    parser = commands.add_parser("completion", help="print a script for a shell")
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(command=lambda options: _print(options.shell, whole()))


def _print(shell: str, parser: argparse.ArgumentParser) -> int:
    print(script(shell, parser), end="")
    return 0


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return a script for a shell, made from the parser itself."""
    words = dict(_words(parser, ()))
    if shell == "fish":
        return "".join(
            f"complete -c penstock -n '__fish_seen_subcommand_from {path[-1]}' -a '{word}'\n"
            if path
            else f"complete -c penstock -n __fish_use_subcommand -a '{word}'\n"
            for path, found in words.items()
            for word in found
        )
    cases = "\n".join(
        f'    {_pattern(path)}) words="{" ".join(found)}" ;;'
        for path, found in sorted(words.items(), key=lambda entry: -len(entry[0]))
        if path
    )
    text = _BASH.format(cases=cases, actions=" ".join(words[()]))
    if shell == "zsh":
        text = "autoload -U +X bashcompinit && bashcompinit\n" + text
    return text


def _pattern(path: tuple[str, ...]) -> str:
    """Return what the first two words are, as a shell matches it."""
    return f'"{path[0]} {path[1]}"' if len(path) > 1 else f'"{path[0]} "*'


def _words(
    parser: argparse.ArgumentParser, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield what can follow each command: its actions and its options."""
    found: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += list(action.choices)
            for name, nested in action.choices.items():
                yield from _words(nested, (*path, name))
        else:
            found += action.option_strings
    yield path, found
