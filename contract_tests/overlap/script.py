"""The part of a script that sends overlapping requests."""

from __future__ import annotations

from contract_tests.curl import form, quoted
from contract_tests.exchange import Exchange, Request
from contract_tests.observation import Violation
from link_management_contract import Resource

AT_ONCE = "-sS --max-time 30 ${CURL_OPTIONS:-} -H \"Authorization: Bearer $key\" -w '%{http_code} %{method}\\n'"


def before(finding: Violation, every: list[Exchange]) -> list[Exchange]:
    """The create of the record that overlapping requests are about, if they are about one."""
    sought = next((each.request.identifier for each in finding.together if each.request.identifier is not None), None)
    return [each for each in every if each.request.operation == "create" and each.made_id == sought][-1:]


def at_once(finding: Violation, ids: dict[int, str], resource: Resource) -> list[str]:
    """The lines that send overlapping requests by one curl, and look at what they led to."""
    lines, parts, looks = list[str](), list[str](), list[str]()
    if any(_is_of_another(exchange.request, ids) for exchange in finding.together):
        return ["# These requests write to a record that this script does not create, so it sends none of them."]
    for number, exchange in enumerate(finding.together, 1):
        request, file = exchange.request, f'"$dir/at-once-{number}"'
        prepared, arguments = form(number, request)
        lines += prepared
        method = [] if arguments else ["-X", request.method]
        parts.append(" ".join([AT_ONCE, "-o", file, *method, *arguments, f'"$base{_place(request, ids)}"']))
        looks.append(f"cat {file}; echo")
        looks += [f'made="$made $(id_in {file})"'] if request.operation == "create" else []
    if not lines and not parts:
        return []
    subject = next((f'"$base{resource.record_path}${name}"' for name in ids.values()), f'"$base{resource.list_path}"')
    return [
        "# Not each try shows it: run this again if it does not.",
        *lines,
        "printf '\\n--- at one moment\\n'",
        f"curl --no-progress-meter --parallel --parallel-immediate {' --next '.join(parts)}",
        *looks,
        f'step "afterwards <-- this answer" api {subject}',
    ]


def _is_of_another(request: Request, ids: dict[int, str]) -> bool:
    """Whether a request writes to a record that the script has not created."""
    return request.method != "GET" and request.identifier is not None and request.identifier not in ids


def _place(request: Request, ids: dict[int, str]) -> str:
    """The path and query of a request, with the id of the script's own record."""
    if request.identifier not in ids:
        return quoted(request.target)
    return quoted(request.target.replace(f"/{request.identifier}", f"/${ids[request.identifier or 0]}", 1))
