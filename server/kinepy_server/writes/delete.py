"""Delete (3.6)."""

from kinepy import KeyValue
from kinepy_server.apply.managed_fields import manager_of
from kinepy_server.context import Context
from kinepy_server.errors import not_found, success_body
from kinepy_server.objects.codec import decode, encode
from kinepy_server.objects.lifecycle import lifecycle_of
from kinepy_server.objects.times import timestamp
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.writes.address import check_url_name
from kinepy_server.writes.allocate import release
from kinepy_server.writes.delete_options import (
    DeleteOptions,
    check_preconditions,
    delete_options,
    finalizers_after,
)
from kinepy_server.writes.outcome import (
    Decision,
    ForOneVersion,
    Keep,
    Outcome,
    Remove,
    Reviewed,
    Write,
    change,
)
from kinepy_server.writes.review import review_of


async def handle_delete(context: Context, request: Request, resource: Resource) -> Response:
    """Delete an object, or mark it when something still holds it.

    What is gone at once is answered with a Status, or for some types with the object (DEL-4); what is
    held, with the object.
    """
    view, accepted = single_view(context, request, resource)
    options = delete_options(request)
    check_url_name(request.name)
    deletion = Deletion(context, resource, request.name, options=options)
    review = review_of(context, request, resource, dry_run=options.dry_run, deletes=True)
    outcome = await deletion.run(request.namespace, actor=deletion_actor(request), review=review)
    if deletion.warning:
        request.warnings.append(deletion.warning)
    if outcome.removed and not resource.delete_returns_object:
        return await respond(success_body(resource, request.name, deletion.uid), accepted)
    return await respond(view.one(outcome.kv), accepted)


class Deletion:
    """One object's delete."""

    def __init__(self, context: Context, resource: Resource, name: str, *, options: DeleteOptions) -> None:
        self._context, self._resource, self._name, self._options = context, resource, name, options
        self._lifecycle = lifecycle_of(resource)
        self._now_us = context.clock.now_us()
        self.uid = ""
        """Of the object that was deleted."""
        self.warning = ""
        """What the client is to be told of it."""

    async def run(self, namespace: str, *, actor: str, review: Reviewed | None = None) -> Outcome:
        """Delete or mark. Raises 403, 404 and the 409 of preconditions."""
        resource = self._resource
        self._lifecycle.check_delete(resource, self._name)
        key = resource.key(namespace, self._name)
        dry_run = self._options.dry_run
        outcome = await change(
            self._context,
            key,
            ForOneVersion(self.decide) if self._options.resource_version else self.decide,
            actor=actor,
            dry_run=dry_run,
            review=review,
            resource=resource,
        )
        if outcome.removed and not dry_run:
            await release(self._context, resource, outcome.kv.value)
        return outcome

    def decide(self, kv: KeyValue | None) -> Decision:
        """What becomes of the stored object."""
        resource, options = self._resource, self._options
        if kv is None:
            raise not_found(resource, self._name)
        obj = decode(resource, kv)
        metadata = obj["metadata"]
        failed = check_preconditions(resource, options, metadata)
        if failed is not None:
            raise failed
        self.uid = metadata["uid"]
        changed = self._set_finalizers(metadata)
        changed = self._lifecycle.begin(obj, now_us=self._now_us, grace_s=options.grace_s) or changed
        if not self._lifecycle.held(obj):
            if "deletionTimestamp" in metadata or changed:
                return Remove(encode(resource, obj))
            return Remove(kv.value)
        if not changed and "deletionTimestamp" in metadata:
            return Keep()
        self._lifecycle.mark(obj, now=timestamp(self._now_us))
        return Write(encode(resource, obj))

    def _set_finalizers(self, metadata: JsonObject) -> bool:
        before = metadata.get("finalizers") or []
        after = finalizers_after(self._options.policy, before, default=self._resource.default_propagation)
        if after == before:
            return False
        metadata["finalizers"] = list(after)
        if not self._options.policy:
            self.warning = self._resource.warnings.get("orphaned", "")
        return True


def deletion_actor(request: Request) -> str:
    """Who deletes, as the log keeps it."""
    return f"{request.user.name} {manager_of('', request.headers.get('user-agent', ''))}"
