import django.db.models.deletion
import django.utils.timezone
import graphs.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('graphs', '0010_asking_back'),
    ]

    operations = [
        migrations.CreateModel(
            name='PolicyProposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('spec', graphs.models.fields.JSONTextField()),
                ('base', models.PositiveIntegerField(help_text='The version that it was made from.')),
                ('note', models.CharField(blank=True, max_length=300)),
                ('author_id', models.BigIntegerField(blank=True, null=True)),
                ('author_name', models.CharField(blank=True, max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('confirmed', 'confirmed'), ('refused', 'refused'), ('withdrawn', 'withdrawn')], default='waiting', max_length=10)),
                ('closed_by_name', models.CharField(blank=True, max_length=150)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='proposals', to='graphs.approvalqueue')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('queue',), name='one_waiting_proposal')],
            },
        ),
    ]
