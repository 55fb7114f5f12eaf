"""The operators' admin: every table to read, search and follow; writes go through actions, and history takes none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from graphs import models as tables
from graphs.actions import memberships, threads, trust
from graphs.actions.errors import Refused
from graphs.engine.errors import SaysoError
from graphs.models.fields import JSONTextField

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline


admin.site.site_header = "Sayso"
admin.site.site_title = "Sayso"
admin.site.index_title = "Sayso"


def link(target: models.Model | None) -> SafeString | str:
    """A link to the admin page of a related row."""
    if target is None:
        return "-"
    name = f"admin:graphs_{target._meta.model_name}_change"
    return format_html('<a href="{}">{}</a>', reverse(name, args=[target.pk]), str(target)[:60])


def readable(value: Any) -> SafeString | str:
    """JSON as people read it: indented, in a block of its own."""
    if value is None:
        return "-"
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, ensure_ascii=False))


class ReadOnlyAdmin(ModelAdmin):
    """Lists and shows rows; nobody adds, changes or deletes one here, superusers included."""

    list_per_page = 50
    show_full_result_count = False
    #: Related rows shown as links: field name -> column title.
    links: dict[str, str] = {}

    def __init__(self, model: type[models.Model], site: admin.AdminSite) -> None:
        super().__init__(model, site)
        for field in model._meta.get_fields():
            if isinstance(field, JSONTextField):
                self._show(field.name, f"{field.name}_json", field.verbose_name, readable)
        for name, title in self.links.items():
            self._show(name, f"{name}_link", title, link)

    def _show(self, field: str, name: str, title: Any, render: Callable[[Any], SafeString | str]) -> None:
        """Add a column that renders one field. Bound per instance, since each admin has its own set."""

        def column(row: models.Model) -> SafeString | str:
            return render(getattr(row, field))

        column.short_description = str(title)  # type: ignore[attr-defined]
        setattr(self, name, column)

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        hidden = self.exclude or ()
        return [self._field(field) for field in self.model._meta.concrete_fields if field.name not in hidden]

    def get_readonly_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        return self.get_fields(request, obj)

    def _field(self, field: Any) -> str:
        if isinstance(field, JSONTextField):
            return f"{field.name}_json"
        return f"{field.name}_link" if field.name in self.links else str(field.name)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(tables.Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    list_display = ["pk", "title", "requester_name", "created_at"]
    list_filter = ["created_at"]
    search_fields = ["title", "requester_name"]


@admin.register(tables.Thread)
class ThreadAdmin(ReadOnlyAdmin):
    list_display = [
        "pk",
        "title",
        "graph_id",
        "thread_id",
        "status",
        "step",
        "conversation_link",
        "updated_at",
        "open_page",
    ]
    list_filter = ["status", "graph_id", "created_at"]
    search_fields = ["title", "thread_id", "graph_id", "conversation__requester_name"]
    list_select_related = ["conversation"]
    links = {"conversation": "conversation", "parent": "forked from"}
    actions = ["suspend", "resume", "retry", "cancel"]

    @admin.display(description="page")
    def open_page(self, row: tables.Thread) -> SafeString:
        return format_html('<a href="{}">open</a>', reverse("thread", args=[row.uid]))

    @admin.action(description="Suspend: no further node starts until they are resumed")
    def suspend(self, request: HttpRequest, chosen: QuerySet[tables.Thread]) -> None:
        self._each(request, chosen, threads.suspend, "suspended, or about to be")

    @admin.action(description="Resume suspended threads, with the answers that came meanwhile")
    def resume(self, request: HttpRequest, chosen: QuerySet[tables.Thread]) -> None:
        self._each(request, chosen, threads.resume, "resumed")

    @admin.action(description="Retry the failed task, with the answers it has")
    def retry(self, request: HttpRequest, chosen: QuerySet[tables.Thread]) -> None:
        self._each(request, chosen, threads.retry, "retried")

    @admin.action(description="Cancel: open questions are withdrawn, running nodes stop at their next step")
    def cancel(self, request: HttpRequest, chosen: QuerySet[tables.Thread]) -> None:
        self._each(request, chosen, threads.cancel, "cancelled")

    def _each(self, request: HttpRequest, chosen: QuerySet[tables.Thread], act: Any, word: str) -> None:
        for thread in chosen:
            try:
                act(request.user, thread, channel="admin")
                self.message_user(request, f"{thread}: {word}.")
            except (Refused, SaysoError) as error:
                self.message_user(request, f"{thread}: {error}", messages.ERROR)


@admin.register(tables.Trust)
class TrustAdmin(ReadOnlyAdmin):
    list_display = ["tool", "agent", "graph_id", "scope", "granted_by_name", "granted_at", "expires_at", "revoked_at"]
    list_filter = ["scope", "granted_at", "revoked_at"]
    search_fields = ["tool", "agent", "graph_id", "granted_by_name"]
    links = {"thread": "thread", "queue": "queue"}
    actions = ["revoke"]

    @admin.action(description="Revoke: such calls are asked about again")
    def revoke(self, request: HttpRequest, chosen: QuerySet[tables.Trust]) -> None:
        for given in chosen:
            try:
                trust.revoke(request.user, given, channel="admin")
                self.message_user(request, f"{given}: revoked.")
            except (Refused, SaysoError) as error:
                self.message_user(request, f"{given}: {error}", messages.ERROR)


@admin.register(tables.Lease)
class LeaseAdmin(ReadOnlyAdmin):
    list_display = ["thread_link", "token", "holder", "expires_at", "barren"]
    search_fields = ["holder", "thread__thread_id"]
    list_filter = ["barren"]
    links = {"thread": "thread"}


@admin.register(tables.StreamedText)
class StreamedTextAdmin(ReadOnlyAdmin):
    list_display = ["path", "visit", "speaker", "thread_link", "token", "at"]
    search_fields = ["path", "thread__thread_id"]
    links = {"thread": "thread"}


@admin.register(tables.Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    list_display = ["pk", "thread_link", "step", "full", "size", "status", "at"]
    list_filter = ["full", "status", "at"]
    search_fields = ["thread__thread_id", "thread__title"]
    links = {"thread": "thread"}


@admin.register(tables.Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = ["pk", "thread_link", "path", "visit", "step", "status", "attempt", "seconds", "at"]
    list_filter = ["status", "at"]
    search_fields = ["path", "thread__thread_id", "thread__title"]
    links = {"thread": "thread"}


@admin.register(tables.JournalEntry)
class JournalEntryAdmin(ReadOnlyAdmin):
    list_display = ["pk", "task_link", "key", "ordinal", "state", "mode", "at"]
    list_filter = ["state", "mode"]
    search_fields = ["key", "task__path"]
    links = {"task": "task"}


@admin.register(tables.ThreadEvent)
class ThreadEventAdmin(ReadOnlyAdmin):
    list_display = ["pk", "thread_link", "seq", "type", "path", "visit", "at"]
    list_filter = ["type", "at"]
    search_fields = ["type", "path", "thread__thread_id"]
    links = {"thread": "thread"}


@admin.register(tables.Blob)
class BlobAdmin(ReadOnlyAdmin):
    list_display = ["digest", "size"]
    search_fields = ["digest"]

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        return ["digest", "size"]


@admin.register(tables.Interrupt)
class InterruptAdmin(ReadOnlyAdmin):
    list_display = ["message", "status", "queue", "thread_link", "task_link", "created_at", "closed_at", "open_page"]
    list_filter = ["status", "queue", "style", "created_at"]
    search_fields = ["message", "search", "node_id"]
    list_select_related = ["queue", "thread", "task"]
    links = {"thread": "thread", "task": "task"}

    @admin.display(description="page")
    def open_page(self, row: tables.Interrupt) -> SafeString:
        return format_html('<a href="{}">open</a>', reverse("review", args=[row.pk]))


@admin.register(tables.Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ["pk", "outcome", "interrupt_link", "reviewer_name", "channel", "decided_at", "audit_seq"]
    list_filter = ["outcome", "channel", "decided_at"]
    search_fields = ["reviewer_name", "comment", "interrupt__message"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.Vote)
class VoteAdmin(ReadOnlyAdmin):
    list_display = ["pk", "outcome", "interrupt_link", "round", "voter_name", "on_behalf_of", "channel", "voted_at"]
    list_filter = ["outcome", "channel", "voted_at"]
    search_fields = ["voter_name", "comment"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.Comment)
class CommentAdmin(ReadOnlyAdmin):
    list_display = ["pk", "author_name", "thread_link", "interrupt_link", "text", "created_at"]
    search_fields = ["text", "author_name"]
    list_filter = ["created_at"]
    links = {"thread": "thread", "interrupt": "interrupt"}


@admin.register(tables.AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ["seq", "at", "actor_name", "action", "object_type", "object_id", "channel"]
    list_filter = ["action", "channel", "object_type", "at"]
    search_fields = ["actor_name", "action", "object_id"]


@admin.register(tables.OutboxMessage)
class OutboxMessageAdmin(ReadOnlyAdmin):
    list_display = ["pk", "kind", "created_at", "published_at", "attempts"]
    list_filter = ["kind", "created_at"]


@admin.register(tables.IdempotencyKey)
class IdempotencyKeyAdmin(ReadOnlyAdmin):
    list_display = ["pk", "scope", "user_id", "result", "created_at"]
    search_fields = ["scope", "result"]


@admin.register(tables.Counter)
class CounterAdmin(ReadOnlyAdmin):
    list_display = ["name", "value"]
    search_fields = ["name"]


@admin.register(tables.Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin):
    list_display = ["name", "at"]


class MembershipInline(TabularInline):
    model = tables.QueueMembership
    extra = 1
    autocomplete_fields = ["user", "group"]


@admin.register(tables.ApprovalQueue)
class ApprovalQueueAdmin(ModelAdmin):
    """The one table people edit here until queues have pages of their own; each save is an audit entry."""

    list_display = ["title", "slug", "is_default"]
    search_fields = ["title", "slug"]
    fields = ["slug", "title", "description", "is_default"]
    inlines = [MembershipInline]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        memberships.record_change(request.user, form.instance, channel="admin")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Its questions and their history hang on it; a queue nobody belongs to takes no more.
        return False


@admin.register(tables.QueuePolicy)
class QueuePolicyAdmin(ReadOnlyAdmin):
    list_display = ["queue", "version", "author_name", "note", "created_at"]
    list_filter = ["queue"]
    search_fields = ["note", "author_name"]


@admin.register(tables.PolicyProposal)
class PolicyProposalAdmin(ReadOnlyAdmin):
    list_display = ["queue", "base", "state", "author_name", "created_at", "closed_by_name", "closed_at"]
    list_filter = ["queue", "state"]
    search_fields = ["note", "author_name", "closed_by_name"]


@admin.register(tables.Delegation)
class DelegationAdmin(ReadOnlyAdmin):
    list_display = ["giver_name", "receiver_name", "queue", "starts_at", "ends_at", "ended_at"]
    list_filter = ["queue", "starts_at"]
    search_fields = ["giver_name", "receiver_name", "note"]


@admin.register(tables.Watch)
class WatchAdmin(ReadOnlyAdmin):
    list_display = ["user", "interrupt_link", "mentioned_by_name", "created_at"]
    search_fields = ["user__username"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.Snooze)
class SnoozeAdmin(ReadOnlyAdmin):
    list_display = ["user", "interrupt_link", "until"]
    search_fields = ["user__username"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.Look)
class LookAdmin(ReadOnlyAdmin):
    list_display = ["user", "interrupt_link", "first_at", "last_at", "read_all"]
    search_fields = ["user__username"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.Draft)
class DraftAdmin(ReadOnlyAdmin):
    """That somebody is writing, not what: it was not sent."""

    list_display = ["user", "interrupt_link", "updated_at"]
    search_fields = ["user__username"]
    exclude = ["fields"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    list_display = ["title", "owner", "queue", "query"]
    search_fields = ["title", "owner__username"]


@admin.register(tables.Attachment)
class AttachmentAdmin(ReadOnlyAdmin):
    list_display = ["name", "content_type", "size", "interrupt_link", "author_name", "created_at"]
    search_fields = ["name", "author_name", "sha256"]
    exclude = ["content"]
    links = {"interrupt": "interrupt"}


@admin.register(tables.Preference)
class PreferenceAdmin(ReadOnlyAdmin):
    list_display = ["user", "zone", "language"]
    search_fields = ["user__username"]
