"""The mission in a terminal: a prompt with history and tab-completion, or a script and its transcript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from textwrap import TextWrapper

from mission.console import LEAVE, complete
from mission.game import Ask, Game, Outcome
from mission.games import BestTimes, Games
from mission.levels import all_levels, level_of
from mission.story import ending, the_story
from mission.text import HOW_TO_BEGIN, duration

Write = Callable[[str], object]
Read = Callable[[str], str]
LINE_WIDTH = 80
_PROSE = TextWrapper(LINE_WIDTH, break_long_words=False, break_on_hyphens=False)  # ids stay whole


def list_levels(best: BestTimes) -> list[dict[str, object]]:
    """Return `[{"id", "title", "par_seconds", "completed"}]`, in the order of play."""
    return [
        {"id": x.id, "title": x.title, "par_seconds": x.par_seconds, "completed": x.id in best}
        for x in all_levels().values()
    ]


def next_level(best: BestTimes) -> str:
    """Return the id of the first level that was not won yet, or of the first level if all were won."""
    return next((name for name in all_levels() if name not in best), next(iter(all_levels())))


def play(
    level: str,
    games: Games,
    *,
    ask: Ask | None = None,
    read: Read = input,
    write: Write = sys.stdout.write,
    script: Iterable[str] | None = None,
) -> int:
    """Play a level and return the exit code: 0 if it is won, 1 if it is lost or unfinished.

    The lines of a script are echoed and run. Without a script the player types: the level's saved game is
    continued, saved after every command, and deleted when the level is over.
    """
    level = level_of(level).id
    saved = games.load(level) if script is None else None
    game = saved if saved and saved.outcome is Outcome.RUNNING else Game.start(level)
    if game.level.number == 1 and not game.history and script is None:
        _say(write, [*_paragraphs(the_story().beginning), ""])
    _say(write, [f"{game.level.number}. {game.level.title}", *_paragraphs(game.level.story.splitlines()), ""])
    for line in _typed(game, read, write) if script is None else _echoed(game, script, write):
        _say(write, [part for said in game.run(line, ask=ask) for part in _broken(said)])
        if script is None:
            games.save(game)
        if game.outcome is not Outcome.RUNNING:
            break
    if game.outcome is not Outcome.RUNNING and script is None:
        games.discard(level)
    games.record_win(game)
    _say(write, _last_words(game, games.progress(), saved=script is None))
    return 0 if game.outcome is Outcome.WON else 1


def _last_words(game: Game, best: BestTimes, *, saved: bool) -> list[str]:
    """Return the lines to print last: the result and the next level, or that the game is saved."""
    if game.outcome is Outcome.RUNNING:
        kept = " The game is saved: the same command continues it." if saved else ""
        return _PROSE.wrap(
            f"Ship's time {game.clock}, {duration(game.elapsed_seconds)} after the start.{kept}"
        )
    end = ending(game, best)
    following = end.following
    then = [f"Next: athena mission {following.number} ({following.title})"] if following else []
    return [end.summary, *_paragraphs(end.epilogue), *then]


def _paragraphs(lines: Iterable[str]) -> list[str]:
    return [line for paragraph in lines for line in ("", *_PROSE.wrap(paragraph))]


def _broken(line: str) -> list[str]:
    """Wrap prose at whole words; return a row of a table (it has two adjacent spaces) unchanged."""
    return [line] if "  " in line else _PROSE.wrap(line) or [line]


def commands_of(lines: Iterable[str]) -> list[str]:
    """Return the commands of a script, without empty lines and comments (`#`)."""
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


def _echoed(game: Game, script: Iterable[str], write: Write) -> Iterator[str]:
    """Yield the commands of a script, and print each after the prompt, as if it was typed."""
    for line in commands_of(script):
        _say(write, [f"{game.ship.names.prompt} {line}"])
        yield line


def _typed(game: Game, read: Read, write: Write) -> Iterator[str]:
    """Yield the lines that the player types, until `quit`, `exit`, Ctrl-C or the end of input."""
    if read is input:
        _use_readline(game)
    _say(write, [HOW_TO_BEGIN])
    while True:
        try:
            line = read(f"{game.clock} {game.ship.names.prompt} ")
        except (EOFError, KeyboardInterrupt):
            _say(write, [""])
            return
        if line.strip().lower() in LEAVE:
            return
        yield line


def _say(write: Write, lines: Iterable[str]) -> None:
    for line in lines:
        write(f"{line}\n")


def _use_readline(game: Game) -> None:
    """Set up history and tab-completion, if Python has `readline` on this platform."""
    try:
        import readline
    except ImportError:
        return

    def completer(_: str, index: int) -> str | None:
        options = complete(game.ship, readline.get_line_buffer()[: readline.get_endidx()])
        return f"{options[index]} " if index < len(options) else None

    readline.set_completer_delims(" ")
    readline.set_completer(completer)
    readline.parse_and_bind("tab: complete")
