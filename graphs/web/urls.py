"""Every page's address. Names carry no namespace, so templates and redirects read as the pages are called."""

from __future__ import annotations

from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import path

from graphs.web import (
    appearance,
    assignments,
    audit,
    bulk,
    checkpoints,
    decisions,
    drafts,
    inbox,
    insights,
    launch,
    news,
    policies,
    preferences,
    queues,
    review,
    saved,
    threads,
    trust,
)
from graphs.web.people import ChangePassword, SignIn
from graphs.web.shell import see_other

urlpatterns = [
    path("", inbox.home, name="home"),
    path("inbox", inbox.inbox, name="inbox"),
    path("inbox/bulk", bulk.bulk, name="bulk"),
    path("inbox/news", news.news, name="news"),
    path("inbox/views", saved.save, name="view_save"),
    path("inbox/views/<int:pk>", saved.change, name="view_change"),
    path("inbox/views/<int:pk>/delete", saved.delete, name="view_delete"),
    path("preferences", preferences.choose, name="preferences"),
    path("review/<uuid:interrupt_id>", review.review, name="review"),
    path("review/<uuid:interrupt_id>/comments", review.comment, name="review_comment"),
    path("review/<uuid:interrupt_id>/undo", review.undo, name="review_undo"),
    path("review/<uuid:interrupt_id>/draft", drafts.draft, name="review_draft"),
    path("review/<uuid:interrupt_id>/look", review.look, name="review_look"),
    path("review/<uuid:interrupt_id>/payload.json", review.payload, name="review_payload"),
    path("review/<uuid:interrupt_id>/claim", assignments.claim, name="claim"),
    path("review/<uuid:interrupt_id>/release", assignments.release, name="release"),
    path("review/<uuid:interrupt_id>/assign", assignments.assign, name="assign"),
    path("review/<uuid:interrupt_id>/snooze", assignments.snooze, name="snooze"),
    path("review/<uuid:interrupt_id>/watch", assignments.watch, name="watch"),
    path("threads", threads.threads, name="threads"),
    path("threads/<uuid:uid>", threads.thread, name="thread"),
    path("threads/<uuid:uid>/cancel", threads.cancel, name="thread_cancel"),
    path("threads/<uuid:uid>/retry", threads.retry, name="thread_retry"),
    path("threads/<uuid:uid>/suspend", threads.suspend, name="thread_suspend"),
    path("threads/<uuid:uid>/resume", threads.resume, name="thread_resume"),
    path("threads/<uuid:uid>/fork", checkpoints.fork, name="thread_fork"),
    path("threads/<uuid:uid>/words", threads.words, name="thread_words"),
    path("threads/<uuid:uid>/say", threads.say, name="thread_say"),
    path("threads/<uuid:uid>/comments", threads.comment, name="thread_comment"),
    path("launch", launch.launcher, name="launcher"),
    path("launch/<str:graph_id>", launch.launch, name="launch"),
    path("queues", queues.queues, name="queues"),
    path("queues/<slug:slug>", queues.queue, name="queue"),
    path("queues/<slug:slug>/policy", policies.policy, name="queue_policy"),
    path("decisions", decisions.decisions, name="decisions"),
    path("audit", audit.audit, name="audit"),
    path("audit/verify", audit.verify, name="audit_verify"),
    path("audit/export", audit.export, name="audit_export"),
    path("insights", insights.insights, name="insights"),
    path("insights/table.csv", insights.download, name="insights_csv"),
    path("trust", trust.trusted, name="trust"),
    path("trust/<uuid:pk>/revoke", trust.revoke, name="trust_revoke"),
    path("favicon.ico", appearance.favicon, name="favicon"),
    path("theme", login_not_required(appearance.theme), name="theme"),
    path("accounts/login/", see_other(SignIn.as_view()), name="login"),
    path("accounts/logout/", see_other(auth.LogoutView.as_view()), name="logout"),
    path(
        "accounts/password/",
        see_other(ChangePassword.as_view()),
        name="password_change",
    ),
]
