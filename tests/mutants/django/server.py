"""Link management API: splash pages, custom domains and notification handlers.

One Django module on a throw-away SQLite database; server.py PORT serves it with threads.
"""

import logging
import secrets
import signal
import sys
import tempfile
import uuid
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import django
from django.conf import settings

PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
WORK_DIR = tempfile.TemporaryDirectory(prefix="links-")

settings.configure(
    ALLOWED_HOSTS=["*"],
    APPEND_SLASH=False,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": Path(WORK_DIR.name) / "db.sqlite3",
            # Writers queue up at BEGIN, so read-modify-write inside atomic() is safe.
            "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 30, "init_command": PRAGMAS},
        }
    },
    DATA_UPLOAD_MAX_MEMORY_SIZE=64 * 1024 * 1024,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    FILE_UPLOAD_TEMP_DIR=WORK_DIR.name,
    INSTALLED_APPS=[__name__],
    MEDIA_ROOT=Path(WORK_DIR.name) / "media",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", f"{__name__}.bearer_auth"],
    ROOT_URLCONF=__name__,
    SECRET_KEY=secrets.token_hex(),
    TIME_ZONE="UTC",
)
django.setup()

from django import forms  # noqa: E402
from django.core.exceptions import ValidationError  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest  # noqa: E402
from django.core.paginator import InvalidPage, Paginator  # noqa: E402
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler  # noqa: E402
from django.db import connection, models, transaction  # noqa: E402
from django.http import HttpResponse, JsonResponse  # noqa: E402
from django.http.multipartparser import MultiPartParserError  # noqa: E402
from django.shortcuts import get_object_or_404  # noqa: E402
from django.urls import re_path  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.views import View  # noqa: E402

PAGE_SIZES = ("10", "25", "50", "100", "250", "500", "1000")
DEFAULT_PAGE_SIZE = "25"
DATETIME_FORMAT = "%Y-%m-%d %H:%M:%S"
FORM_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")
MAX_BODY = 256 * 1024 * 1024
# What each type of handler keeps: the key in "settings", and the form field and column behind it.
SETTINGS = {
    "email": {"email": "email"},
    "webhook": {"url": "webhook"},
    "slack": {"url": "slack"},
    "discord": {"url": "discord"},
    "telegram": {"bot_token": "telegram", "chat_id": "telegram_chat_id"},
    "microsoft_teams": {"url": "microsoft_teams"},
}


def random_color():
    return f"#{secrets.randbelow(1 << 24):06x}"


def upload_path(instance, filename):
    return f"splash/{uuid.uuid4().hex}"


class Account(models.Model):
    api_key = models.CharField(max_length=64, unique=True)


class Record(models.Model):
    account = models.ForeignKey(Account, on_delete=models.CASCADE)
    created = models.DateTimeField(default=timezone.now)
    updated = models.DateTimeField(null=True)
    shown: tuple[str, ...] = ()

    class Meta:
        abstract = True
        ordering = ["-created", "-id"]

    def as_json(self):
        return {
            **{name: getattr(self, name) for name in self.shown},
            "last_datetime": self.updated and self.updated.strftime(DATETIME_FORMAT),
            "datetime": self.created.strftime(DATETIME_FORMAT),
        }


class SplashPage(Record):
    name = models.TextField()
    color = models.CharField(max_length=7, default=random_color)
    title = models.TextField(blank=True)
    logo = models.FileField(upload_to=upload_path, max_length=255, blank=True)
    favicon = models.FileField(upload_to=upload_path, max_length=255, blank=True)
    opengraph = models.FileField(upload_to=upload_path, max_length=255, blank=True)
    description = models.TextField(blank=True)
    secondary_button_name = models.TextField(blank=True)
    secondary_button_url = models.TextField(blank=True)
    custom_css = models.TextField(blank=True)
    custom_js = models.TextField(blank=True)
    ads_header = models.TextField(blank=True)
    ads_footer = models.TextField(blank=True)
    link_unlock_seconds = models.PositiveIntegerField(null=True, blank=True)
    auto_redirect = models.BooleanField(default=False)
    shown = ("id", "name", "color")


class Domain(Record):
    scheme = models.CharField(max_length=8, default="https://")
    host = models.TextField()
    custom_index_url = models.TextField(blank=True)
    custom_not_found_url = models.TextField(blank=True)
    is_enabled = models.BooleanField(default=False)  # until the host is verified
    shown = ("id", "scheme", "host", "custom_index_url", "is_enabled")


class NotificationHandler(Record):
    type = models.CharField(max_length=16, choices=[(value, value) for value in SETTINGS])
    name = models.TextField()
    email = models.TextField(blank=True)
    webhook = models.TextField(blank=True)
    slack = models.TextField(blank=True)
    discord = models.TextField(blank=True)
    telegram = models.TextField(blank=True)
    telegram_chat_id = models.TextField(blank=True)
    microsoft_teams = models.TextField(blank=True)
    is_enabled = models.BooleanField(default=True)
    shown = ("id", "type", "name", "settings", "is_enabled")

    @property
    def settings(self):
        return {key: getattr(self, column) for key, column in SETTINGS[self.type].items()}


class FlagField(forms.Field):
    values = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}

    def to_python(self, value):
        try:
            return self.values[value.strip().lower()]
        except (AttributeError, KeyError):
            raise ValidationError("Must be a valid boolean.") from None


def form_field(column, **kwargs):
    if isinstance(column, models.BooleanField):
        return FlagField(required=False)
    if isinstance(column, models.FileField):
        return column.formfield(allow_empty_file=True, widget=forms.FileInput, **kwargs)
    if isinstance(column, models.TextField):  # kept as sent, surrounding white space included
        return column.formfield(strip=False, **kwargs)
    return column.formfield(**kwargs)


class RecordForm(forms.ModelForm):
    """A form of which only the submitted fields count, plus the required ones on creation."""

    update_only: tuple[str, ...] = ()

    def __init__(self, data, files, instance=None):
        super().__init__(data, files, instance=instance)
        for name, field in list(self.fields.items()):
            # Browsers send an unused file input as an empty value.
            unused = isinstance(field, forms.FileField) and data.get(name) == ""
            submitted = name in files or (name in data and not unused)
            optional = instance is not None or not field.required
            if (optional and not submitted) or (name in self.update_only and not instance):
                del self.fields[name]

    def clean(self):
        for name, field in self.fields.items():
            if isinstance(field, forms.FileField) and name not in self.files:
                self.add_error(name, "The submitted data was not a file.")
            elif name in self.files and not isinstance(field, forms.FileField):
                self.add_error(name, "Not a valid string.")
        return self.cleaned_data


class HandlerForm(RecordForm):
    update_only = ("is_enabled",)

    def clean(self):
        cleaned = super().clean()
        selected = cleaned.get("type", self.instance.type)
        for kind, keys in SETTINGS.items():
            for column in keys.values() if kind != selected else ():
                cleaned.pop(column, None)
        return cleaned


def form_for(model, *read_only, form=RecordForm):
    exclude = ("account", "created", "updated", *read_only)
    return forms.modelform_factory(model, form, exclude=exclude, formfield_callback=form_field)


def error(status, detail, **headers):
    return JsonResponse({"detail": detail}, status=status, headers=headers)


def failure(status, detail):
    return lambda request, exception=None: error(status, detail)


handler400 = failure(400, "Malformed request.")
handler404 = failure(404, "Not found.")
handler500 = failure(500, "Internal server error.")


def bearer_auth(get_response):
    """Attach the account that owns the API key to the request, or refuse it."""

    def middleware(request):
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        request.account = Account.objects.filter(api_key=key.strip()).first()
        if scheme.lower() != "bearer" or request.account is None:
            return error(401, "Invalid API key.", **{"WWW-Authenticate": "Bearer"})
        return get_response(request)

    return middleware


class ApiView(View):
    http_method_names = ["get", "head", "post", "delete", "options"]
    form_class: type[RecordForm] = RecordForm
    collection = ""

    def dispatch(self, request, *args, **kwargs):
        if request.method == "POST":
            has_body = request.META.get("CONTENT_LENGTH") not in (None, "", "0")
            if has_body and request.content_type not in FORM_TYPES:
                return error(415, "Send the fields as multipart/form-data.")
            try:
                request.POST, request.FILES
            except (MultiPartParserError, LookupError, ValueError):
                return error(400, "The form could not be read.")
        return super().dispatch(request, *args, **kwargs)

    def get_queryset(self):
        return self.form_class.Meta.model.objects.filter(account=self.request.account)


class CollectionView(ApiView):
    def get(self, request):
        size = request.GET.get("results_per_page")
        per_page = int(size if size in PAGE_SIZES else DEFAULT_PAGE_SIZE)
        with transaction.atomic():  # the count and the rows come from one snapshot
            paginator = Paginator(self.get_queryset(), per_page)
            try:
                page = paginator.page(request.GET.get("page", 1))
            except InvalidPage:
                return error(404, "Invalid page.")
            data = [record.as_json() for record in page]
        base = f"{request.scheme}://{request.get_host()}/api/{self.collection}?page="
        numbers = {"first": 1, "last": paginator.num_pages, "self": page.number}
        numbers["next"] = page.next_page_number() if page.has_next() else None
        numbers["prev"] = page.previous_page_number() if page.has_previous() else None
        links = {name: number and f"{base}{number}" for name, number in numbers.items()}
        meta = {"page": page.number, "results_per_page": per_page}
        meta |= {"total": paginator.count, "total_pages": paginator.num_pages}
        return JsonResponse({"data": data, "links": links, "meta": meta})

    def post(self, request):
        form = self.form_class(request.POST, request.FILES)
        if not form.is_valid():
            return JsonResponse(form.errors, status=400)
        form.instance.account = request.account
        return JsonResponse({"data": {"id": form.save().pk}}, status=201)


class RecordView(ApiView):
    def get(self, request, pk):
        return JsonResponse({"data": get_object_or_404(self.get_queryset(), pk=pk).as_json()})

    def post(self, request, pk):
        with transaction.atomic():
            record = get_object_or_404(self.get_queryset(), pk=pk)
            form = self.form_class(request.POST, request.FILES, instance=record)
            if not form.is_valid():
                return JsonResponse(form.errors, status=400)
            record.updated = timezone.now()
            record.save(update_fields=[*form.cleaned_data, "updated"])
        return JsonResponse({"data": {"id": record.pk}})

    def delete(self, request, pk):
        with transaction.atomic():
            get_object_or_404(self.get_queryset(), pk=pk).delete()
        return HttpResponse(status=204)


def resource(path, form_class, collection=None):
    """Routes of a resource, its collection also under the name that its links use."""
    views = {"collection": collection or path, "form_class": form_class}
    return [
        re_path(rf"^api/(?:{path}|{collection or path})/?\Z", CollectionView.as_view(**views)),
        re_path(rf"^api/{path}/(?P<pk>[1-9][0-9]{{0,17}})/?\Z", RecordView.as_view(**views)),
    ]


urlpatterns = [
    *resource("splash-pages", form_for(SplashPage, "color"), collection="projects"),
    *resource("domains", form_for(Domain, "scheme", "is_enabled")),
    *resource("notification-handlers", form_for(NotificationHandler, form=HandlerForm)),
]


class ApiRequest(WSGIRequest):
    def _set_content_type_params(self, meta):
        try:
            super()._set_content_type_params(meta)
        except (LookupError, ValueError):
            self.content_type, self.content_params = "", {}
        self.encoding = "utf-8"


class RequestHandler(WSGIRequestHandler):
    """Django's handler, plus request bodies that come in chunks."""

    def handle_one_request(self):
        stream = self.rfile
        super().handle_one_request()
        self.rfile = stream

    def parse_request(self):
        if not super().parse_request():
            return False
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return True
        body = bytearray()
        try:
            while size := int(self.rfile.readline(1024).partition(b";")[0], 16):
                if size < 0 or len(body) + size > MAX_BODY:
                    raise ValueError("bad chunk size")
                body += self.rfile.read(size)
                self.rfile.readline(3)
        except ValueError:
            self.send_error(400)
            return False
        while self.rfile.readline(65537).strip():
            pass  # trailers
        del self.headers["Content-Length"]
        self.headers["Content-Length"] = str(len(body))
        self.rfile = BytesIO(body)
        return True


@transaction.atomic
def load_fixtures():
    harbour = Account.objects.create(api_key="demo-key-harbour")
    alpine = Account.objects.create(api_key="demo-key-alpine")
    places = ("north", "south", "east", "west", "quay", "pier", "dock")
    names = [f"{p}-{topic}" for p in places for topic in ("launch", "sale", "news", "help")]
    for i, name in enumerate(names):
        age = timedelta(days=len(names) - i, minutes=-37 * i)
        common = {"account": harbour, "created": timezone.now() - age}
        SplashPage.objects.create(name=name.replace("-", " ").title(), **common)
        Domain.objects.create(host=f"{name}.harbour.example", is_enabled=True, **common)
        kind = list(SETTINGS)[i % len(SETTINGS)]
        samples = {"email": f"{name}@harbour.example", "telegram": f"1102{i:05}:demo-token"}
        target = samples.get(kind, f"https://hooks.example/{name}")
        values = {kind: target, "telegram_chat_id": f"-100{i:04}" if kind == "telegram" else ""}
        NotificationHandler.objects.create(name=f"Alert {name}", type=kind, **values, **common)
    for host in ("go.alpine.example", "ski.alpine.example"):
        Domain.objects.create(account=alpine, host=host, is_enabled=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with WORK_DIR:
        logging.disable(logging.WARNING)
        with connection.schema_editor() as editor:
            for model in (Account, SplashPage, Domain, NotificationHandler):
                editor.create_model(model)
        load_fixtures()
        connection.close()
        application = WSGIHandler()
        application.request_class = ApiRequest
        ThreadedWSGIServer.request_queue_size = 128
        server = ThreadedWSGIServer(("127.0.0.1", int(sys.argv[1])), RequestHandler)
        server.set_app(application)
        print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
