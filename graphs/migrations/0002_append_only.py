"""Decisions and audit entries are append-only: the database itself refuses to change or remove one."""

from django.db import migrations

TABLES = ["graphs_decision", "graphs_auditentry"]

POSTGRESQL_FUNCTION = """
CREATE FUNCTION graphs_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$
"""


def guard(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL_FUNCTION, params=None)
        for table in TABLES:
            schema_editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION graphs_append_only()"
            )
        return
    for table in TABLES:
        for verb in ("UPDATE", "DELETE"):
            schema_editor.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )


def lift(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"DROP TRIGGER {table}_append_only ON {table}")
        schema_editor.execute("DROP FUNCTION graphs_append_only()")
        return
    for table in TABLES:
        for verb in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {table}_no_{verb}")


class Migration(migrations.Migration):
    dependencies = [("graphs", "0001_initial")]
    operations = [migrations.RunPython(guard, lift)]
