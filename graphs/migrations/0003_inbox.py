"""The queue where questions go that name none, and the head of the audit chain."""

from django.db import migrations


def create(apps, schema_editor):
    using = schema_editor.connection.alias
    queues = apps.get_model("graphs", "ApprovalQueue").objects.using(using)
    counters = apps.get_model("graphs", "Counter").objects.using(using)
    inbox = queues.create(slug="inbox", title="Inbox", is_default=True)
    counters.create(name=f"queue:{inbox.pk}", value=0)
    counters.create(name="audit", value=0, text="")


class Migration(migrations.Migration):
    dependencies = [("graphs", "0002_append_only")]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
