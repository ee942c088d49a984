"""Cases in MongoDB: a record each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pymongo import ReplaceOne
from pymongo.database import Database

from pipeline.errors import StoreDamaged
from pipeline.stores.cases import Case, Cases, case_from, case_json, case_without
from pipeline.stores.erasing import Erasing
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.servers import Servers


class ServerCases(Cases):
    """Fulfils `Cases`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)

    def put(self, *cases: Case) -> None:
        """Write cases whole, each in the place of one of its id."""
        with self._servers.mongo.collection("cases") as stored:
            for some in chunks(cases):
                stored.bulk_write([ReplaceOne({"_id": case.id}, _record(case), upsert=True) for case in some])

    def change(self, case_id: str, change: Callable[[Case], Case]) -> None:
        """Store what `change` makes of a case as it is at that moment; nothing where it is gone."""
        with self._servers.mongo.collection("cases") as stored:
            while found := stored.find_one({"_id": case_id}):
                changed = _record(change(_case(found)))
                if stored.replace_one({"_id": case_id, "row": found["row"]}, changed).matched_count:
                    return

    def list(self, user: str | None = None) -> Sequence[Case]:
        """Those of a user, or of all, the oldest first."""
        where = {} if user is None else {"user": user}
        with self._servers.mongo.collection("cases") as stored:
            found = [*stored.find(where).sort([("created_at", 1), ("_id", 1)])]
        return [_case(record) for record in found]

    def delete(self, *ids: str) -> None:
        """Remove cases; one that is gone already is nothing to raise for."""
        with self._servers.mongo.collection("cases") as stored:
            for some in chunks(ids):
                stored.delete_many({"_id": {"$in": some}})

    def close(self) -> None:
        """Release the connections."""
        self._servers.close()


def overwrite_cases(database: Database[Document], user: str, words: Erasing) -> None:
    """Overwrite words in the cases of a user; done twice, it does nothing more."""
    for record in [*database["cases"].find({"user": user})]:
        if (row := case_without(record["row"], words)) is not None:
            database["cases"].update_one({"_id": record["_id"]}, {"$set": {"row": row}})


def delete_cases_of(database: Database[Document], conversation_id: str, said: Collection[str]) -> None:
    """Delete the cases of a conversation that repeat what was said."""
    for record in [*database["cases"].find({"conversation": conversation_id})]:
        if _case(record).says(said):
            database["cases"].delete_one({"_id": record["_id"]})


def _record(case: Case) -> Document:
    return {
        "_id": case.id,
        "user": case.user,
        "conversation": case.conversation_id,
        "created_at": case.created_at,
        "row": case_json(case),
    }


def _case(record: Document) -> Case:
    try:
        return case_from(record.get("row") or "")
    except ValueError as error:
        raise StoreDamaged(
            f"Cannot read the case '{record['_id']}' in MongoDB: it is not as it was written.",
            "Put back a copy of the database, or delete that record of its collection 'cases'.",
        ) from error
