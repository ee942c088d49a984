"""The mission in a terminal: a prompt with history and tab-completion, or a script and its transcript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import TextWrapper

from mission.completion import LEAVE, complete
from mission.game import Ask, Game, Outcome
from mission.games import BestTimes, read_best_times, record_win
from mission.levels import all_levels
from mission.story import ending, the_story
from mission.text import HOW_TO_BEGIN, duration

Write = Callable[[str], object]
Read = Callable[[str], str]
More = Callable[[str], str]
"""Shows the passages of the last answer: all of them, or the one with a number."""
LINE_WIDTH = 80
_PROSE = TextWrapper(LINE_WIDTH, break_long_words=False, break_on_hyphens=False)  # ids stay whole


def list_levels(progress: Path | None = None) -> list[dict[str, object]]:
    """`[{"id", "title", "par_seconds", "completed"}]`, in the order of play."""
    done = _best_times(progress)
    return [
        {"id": x.id, "title": x.title, "par_seconds": x.par_seconds, "completed": x.id in done}
        for x in all_levels().values()
    ]


def next_level(progress: Path | None = None) -> str:
    """The first level that was not won yet, or the first of all."""
    done = _best_times(progress)
    return next((name for name in all_levels() if name not in done), next(iter(all_levels())))


def _best_times(progress: Path | None) -> BestTimes:
    return read_best_times(progress) if progress else {}


def play(
    level: str,
    *,
    ask: Ask | None = None,
    more: More | None = None,
    read: Read = input,
    write: Write = sys.stdout.write,
    script: Iterable[str] | None = None,
    progress: Path | None = None,
    save: Path | None = None,
) -> int:
    """Play a level: 0 when the crisis is averted, 1 when the level is lost or unfinished.

    A script's lines are run and echoed; without a script the player types. A game of this level in `save`
    is continued and saved after every command; the file is removed when the level is over.
    """
    game = _begin(level, ask=ask, save=save)
    if game.level.number == 1 and not game.history and script is None:
        _say(write, [*story(), ""])
    _say(write, [f"{game.level.number}. {game.level.title}", *_paragraphs(game.level.story.splitlines()), ""])
    if script is None:
        _converse(game, read, write, save, more)
    else:
        _follow(game, script, write, save, more)
    if game.outcome is Outcome.WON and progress is not None:
        record_win(progress, game.level.id, game.elapsed_seconds)
    if game.outcome is not Outcome.RUNNING and save is not None:
        save.unlink(missing_ok=True)
    _say(write, _last_words(game, _best_times(progress), saved=save is not None))
    return 0 if game.outcome is Outcome.WON else 1


def _last_words(game: Game, best: BestTimes, *, saved: bool) -> list[str]:
    """Return the lines after the game: the end and the next level, or that the game is saved."""
    if game.outcome is Outcome.RUNNING:
        kept = " The game is saved: the same command continues it." if saved else ""
        return [f"Ship's time {game.clock}, {duration(game.elapsed_seconds)} after the start.{kept}"]
    end = ending(game, best)
    following = end.following
    then = [f"Next: athena mission {following.number} ({following.title})"] if following else []
    return [end.summary, *_paragraphs(end.epilogue), *then]


def _paragraphs(lines: Iterable[str]) -> list[str]:
    return [line for paragraph in lines for line in ("", *_PROSE.wrap(paragraph))]


def _broken(line: str) -> list[str]:
    """Wrap prose at whole words; leave a table's row (two spaces) as it is."""
    return [line] if "  " in line else _PROSE.wrap(line) or [line]


def story() -> list[str]:
    """The prologue, as lines for a terminal."""
    return _paragraphs(the_story().beginning)


def commands_of(lines: Iterable[str]) -> list[str]:
    """The commands of a script, without empty lines and comments (`#`)."""
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


def _begin(level: str, *, ask: Ask | None, save: Path | None) -> Game:
    if save is not None and save.exists():
        saved = Game.load(save, ask=ask)
        if level in (saved.level.id, str(saved.level.number)) and saved.outcome is Outcome.RUNNING:
            return saved
    return Game.start(level, ask=ask)


def _follow(game: Game, script: Iterable[str], write: Write, save: Path | None, more: More | None) -> None:
    """Run a script until the level is over."""
    for line in commands_of(script):
        _say(write, [f"{game.ship.names.prompt} {line}"])
        _enter(game, line, write, save, more)
        if game.outcome is not Outcome.RUNNING:
            return


def _converse(game: Game, read: Read, write: Write, save: Path | None, more: More | None) -> None:
    """Read commands until the level is over or the player leaves."""
    if read is input:
        _use_readline(game)
    _say(write, [HOW_TO_BEGIN])
    while game.outcome is Outcome.RUNNING:
        try:
            line = read(f"{game.clock} {game.ship.names.prompt} ")
        except (EOFError, KeyboardInterrupt):
            _say(write, [""])
            return
        if line.strip().lower() in LEAVE:
            return
        _enter(game, line, write, save, more)


def _enter(game: Game, line: str, write: Write, save: Path | None, more: More | None) -> None:
    word, _, which = line.strip().partition(" ")
    if more and word.lower() == "more":
        _say(write, [more(which.strip())])
        return
    _say(write, [part for said in game.run(line) for part in _broken(said)])
    if save is not None:
        game.save(save)


def _say(write: Write, lines: Iterable[str]) -> None:
    for line in lines:
        write(f"{line}\n")


def _use_readline(game: Game) -> None:
    """History and tab-completion, where the platform has them."""
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
