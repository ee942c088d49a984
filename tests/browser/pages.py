"""The app's pages as a test drives them: by what a person sees, waiting for states and never for time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, Response, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

BAD_REQUEST = 400
PATIENCE_MS = 60_000  # the first question imports LlamaIndex and loads a model, maybe on a busy machine
LOOK_EVERY_MS = 50
SCROLLS = ":root, [data-testid=stMain], [data-collapsed=false] [data-testid=stSidebarContent]"
WIDER = f"""Math.max(
  ...[...document.querySelectorAll('{SCROLLS}')].map((part) => part.scrollWidth - part.clientWidth))"""
AFTER_TASKS = "() => new Promise((done) => setTimeout(done))"


class Runs:
    """Whether a page's script is at rest, by what it and the server say to each other.

    The page's own attribute says so, too, before the first run begins and between two runs.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._socket: WebSocket | None = None
        self._at_rest = False
        self.references = 0
        """How often the server left out a part of the page that it takes the browser to have kept."""
        page.on("websocket", self._opened)

    def _opened(self, socket: WebSocket) -> None:
        self._socket, self._at_rest = socket, False
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)
        socket.on("close", self._closed)

    def _closed(self, socket: WebSocket) -> None:
        if socket is self._socket:
            self._socket = None

    def _sent(self, payload: bytes | str) -> None:
        if isinstance(payload, bytes) and BackMsg.FromString(payload).WhichOneof("type") == "rerun_script":
            self._at_rest = False

    def _received(self, payload: bytes | str) -> None:
        if not isinstance(payload, bytes):
            return
        said = ForwardMsg.FromString(payload)
        if said.WhichOneof("type") == "new_session":
            self._at_rest = False
        elif said.WhichOneof("type") == "ref_hash":
            self.references += 1
        elif said.WhichOneof("type") == "script_finished":
            self._at_rest = said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def forget(self) -> None:
        """The page is about to be loaded: what was said until now is of another one."""
        self._socket = None

    def wait(self) -> None:
        """Wait until a run has ended that nothing asked to be run again."""
        if self._socket is None:
            self._page.wait_for_event("websocket", lambda _: self._socket is not None, timeout=PATIENCE_MS)
        self._page.evaluate(AFTER_TASKS)  # what a click sends is sent in a task of its own
        if self._socket is not None and not self._at_rest:
            self._socket.wait_for_event("framereceived", lambda _: self._at_rest, timeout=PATIENCE_MS)


class App:
    """One browser window on the app."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self._elsewhere: list[str] = []
        self._errors: list[str] = []
        self._runs = Runs(page)
        page.on("request", self._note)
        page.on("pageerror", lambda error: self._errors.append(f"script error: {error}"))
        page.on("dialog", self._dialog)
        page.on("response", self._answered)
        page.on("console", self._said)

    def _note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlsplit(self.address).netloc:
            self._elsewhere.append(f"a request went elsewhere: {request.url}")

    def _said(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            self._errors.append(message.text)

    def _answered(self, response: Response) -> None:
        looks_for_server = "/_stcore/" in response.url  # below a page's address first, then where it is
        if response.status >= BAD_REQUEST and not looks_for_server:
            self._errors.append(f"{response.status}: {response.url}")

    def _dialog(self, dialog: object) -> None:
        self._errors.append(f"a script opened a dialog: {dialog}")

    def problems(self) -> list[str]:
        """What must not have happened: requests elsewhere or in vain, script errors, dialogs of scripts."""
        kept = ["a part of the page was left out"] if self._runs.references else []
        return [*self._elsewhere, *self._errors, *kept]

    @property
    def width(self) -> int:
        """The window's width in px."""
        assert self.page.viewport_size
        return self.page.viewport_size["width"]

    def open(self, path: str = "/") -> None:
        """Go to a page and wait until it stands."""
        self._runs.forget()
        self.page.goto(self.address + path)
        self.ready()

    def reload(self) -> None:
        """Load the page again and wait until it stands."""
        self._runs.forget()
        self.page.reload()
        self.ready()

    def ready(self) -> None:
        """Wait until the script has run to its end, and what it drew is there: nothing moves any more."""
        self._runs.wait()
        expect(self.page.locator(".stApp[data-test-script-state='notRunning']")).to_be_attached(
            timeout=PATIENCE_MS
        )
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)

    def fits(self) -> None:
        """Wait until nothing can be scrolled sideways: pictures follow a new width a moment later."""
        self.until(lambda: self.page.evaluate(WIDER) <= 0)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds that `expect` cannot check, such as where two elements are."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not holds():
            assert time.monotonic() < end, "it did not come to hold"
            self.page.wait_for_timeout(LOOK_EVERY_MS)

    def show_sidebar(self) -> None:
        """Open the sidebar, which a narrow window has closed."""
        opener = self.page.get_by_test_id("stExpandSidebarButton")
        self.ready()
        if opener.is_visible():
            opener.click()
        expect(self.page.locator(".st-key-new button")).to_be_in_viewport()

    def go(self, page: str) -> None:
        """Choose a page in the sidebar, which a narrow window closes after that."""
        self.show_sidebar()
        self.page.get_by_test_id("stSidebarNav").get_by_text(page).click()
        self.ready()

    def press(self, name: str) -> None:
        """Click a button, once it can be clicked and no run is under way that this would cut short."""
        button = self.page.get_by_role("button", name=name)
        expect(button).to_be_enabled()
        self.ready()
        button.click()

    def escape(self) -> None:
        """Close what is open by Escape, once no run is under way that would draw it again."""
        self.ready()
        self.page.keyboard.press("Escape")

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
        """One turn, once its answer is complete and the page is at rest."""
        turn = self.turn(number)
        expect(self.page.locator("[class*='st-key-tools-']").nth(number - 1)).to_be_visible()
        self.ready()
        return turn

    def tools(self, number: int) -> Locator:
        """The line under an answer, counting from 1."""
        return self.page.locator("[class*='st-key-tools-']").nth(number - 1)

    def choose_in(self, menu: Locator, option: str) -> None:
        """Open a menu and choose in it."""
        self.ready()
        menu.get_by_role("button").click()
        self.page.get_by_role("menuitem", name=option).click()

    @property
    def pane(self) -> Locator:
        """The evidence pane."""
        return self.page.locator(".sheet")

    @property
    def mark(self) -> Locator:
        """The cited sentence in the pane."""
        return self.page.locator(".sheet mark")

    @property
    def answering(self) -> Locator:
        """The marked sentence that answers, which the pane shows first; else every mark."""
        has = ":has(mark.answer)"
        return self.page.locator(f".sheet{has} mark.answer, .sheet:not({has}) mark")

    def cited(self) -> str:
        """The text that is marked in the pane, on one line."""
        expect(self.mark.first).to_be_visible()
        return " ".join(" ".join(self.mark.all_inner_texts()).split())

    # -- documents ------------------------------------------------------------------------------------

    def document_row(self, name: str) -> Locator:
        """One document or folder in the tree."""
        return self.page.locator(".tree .row").filter(has_text=name)

    @property
    def uploader(self) -> Locator:
        """Where files are chosen."""
        return self.page.get_by_test_id("stFileUploader")

    @property
    def job(self) -> Locator:
        """The indexing job, at work or done, until it is closed."""
        return self.page.locator(".st-key-job-indexing")

    def choose(self, *paths: Path) -> None:
        """Open the form, once nothing is being indexed, and choose files to upload."""
        self.ready()
        form = self.page.get_by_text("Add files", exact=True)
        expect(form).to_be_visible()  # open or closed: asked sooner, an open one would be closed by the click
        if self.page.locator("details:not([open])").filter(has=form).count():
            form.click()
        field = self.uploader.locator("input[type=file]")
        expect(field).to_be_enabled()
        if paths:
            field.set_input_files(list(paths))

    def upload(self, *paths: Path) -> None:
        """Choose files to upload, and add them."""
        self.choose(*paths)
        expect(self.uploader.get_by_text(paths[-1].name)).to_be_visible()
        self.page.get_by_role("button", name="Add", exact=True).click()


def box(part: Locator) -> dict[str, float]:
    """Where a part stands in the window: x, y, width and height."""
    found = part.bounding_box()
    assert found is not None, "it is not drawn"
    return dict(found)  # type: ignore[arg-type]
