"""The app's pages as a test drives them: by what a person sees, waiting for states and never for time."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, Request, Response, expect

BAD_REQUEST = 400
LOCAL = {"127.0.0.1", "localhost", ""}


class App:
    """One browser window on the app."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self._elsewhere: list[str] = []
        self._errors: list[str] = []
        page.on("request", self._note)
        page.on("pageerror", lambda error: self._errors.append(f"script error: {error}"))
        page.on("dialog", self._dialog)
        page.on("response", self._answered)

    def _note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and (parts.hostname or "") not in LOCAL:
            self._elsewhere.append(f"a request left the machine: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= BAD_REQUEST:
            self._errors.append(f"{response.status}: {response.url}")

    def _dialog(self, dialog: object) -> None:
        self._errors.append(f"a script opened a dialog: {dialog}")

    def problems(self) -> list[str]:
        """What must not have happened: requests elsewhere or in vain, script errors, scripts' dialogs."""
        return [*self._elsewhere, *self._errors]

    def open(self, path: str = "/") -> None:
        """Go to a page and wait until it stands."""
        self.page.goto(self.address + path)
        self.ready()

    def ready(self) -> None:
        """Wait until the script has run and the page is complete."""
        expect(self.page.locator(".stApp[data-test-script-state='notRunning']")).to_be_attached(
            timeout=60_000
        )

    # -- chat -----------------------------------------------------------------------------------------

    @property
    def question(self) -> Locator:
        """The field for the question."""
        return self.page.get_by_test_id("stChatInputTextArea")

    def ask(self, text: str) -> None:
        """Ask, without waiting for the answer."""
        expect(self.question).to_be_enabled()
        self.question.fill(text)
        self.question.press("Enter")

    def turn(self, number: int) -> Locator:
        """One turn of the conversation, counting from 1."""
        return self.page.locator(".turn").nth(number - 1)

    def answered(self, number: int) -> Locator:
        """One turn, once its answer is complete and the next question can be asked."""
        turn = self.turn(number)
        expect(turn.locator(".how")).to_be_visible()
        expect(self.question).to_be_enabled()
        return turn

    @property
    def pane(self) -> Locator:
        """The evidence pane."""
        return self.page.locator(".sheet")

    @property
    def mark(self) -> Locator:
        """The cited sentence in the pane."""
        return self.page.locator(".sheet mark")

    def cited(self) -> str:
        """The text that is marked in the pane, on one line."""
        expect(self.mark.first).to_be_visible()
        return " ".join(" ".join(self.mark.all_inner_texts()).split())

    # -- documents ------------------------------------------------------------------------------------

    def file_row(self, name: str) -> Locator:
        """One file in the table."""
        return self.page.locator(".files tbody tr").filter(has_text=name)

    @property
    def uploader(self) -> Locator:
        """Where files are chosen."""
        return self.page.get_by_test_id("stFileUploader")

    @property
    def job(self) -> Locator:
        """The indexing job, at work or done, until it is closed."""
        return self.page.locator(".st-key-job")

    def choose(self, *paths: Path) -> None:
        """Choose files to upload, once nothing is being indexed."""
        self.ready()
        form = self.page.get_by_text("Add files", exact=True)
        expect(form).to_be_visible()  # open or closed: asked sooner, an open one would be closed by the click
        if self.page.locator("details:not([open])").filter(has=form).count():
            form.click()
        field = self.uploader.locator("input[type=file]")
        expect(field).to_be_enabled()
        field.set_input_files(list(paths))

    def upload(self, *paths: Path) -> None:
        """Choose files to upload, and add them."""
        self.choose(*paths)
        self.page.get_by_role("button", name=re.compile("^Add \\d")).click()


def visible_in(part: Locator, container: Locator) -> bool:
    """Whether a part lies inside what its container shows."""
    inner, outer = part.bounding_box(), container.bounding_box()
    if inner is None or outer is None:
        return False
    return outer["y"] <= inner["y"] and inner["y"] + min(inner["height"], 20) <= outer["y"] + outer["height"]
