"""What a command line asks for, as settings."""

from __future__ import annotations

import argparse
from typing import Any

from mock_server.clock import system_clock
from mock_server.errors import SettingsError, shown_url
from mock_server.options import BEHAVIOUR, DATA, FRONT, OPTIONS, SHARED, Option
from mock_server.settings import FORWARDS, Deployment, read_profile


def settings_of(given: argparse.Namespace) -> dict[str, Any]:
    """The settings that a command line asks for.

    Raises:
        SettingsError: if options contradict one another, or a profile cannot be read.
    """
    if given.rate_limit and "rate-limit" in dict(given.condition):
        raise SettingsError("--rate-limit and --condition rate-limit are the same; give one of them")
    if not given.store and (used := [each.flag for each in OPTIONS if each.group == SHARED and _is_used(given, each)]):
        raise SettingsError(f"{used[0]} goes with --store URL; give both")
    if given.cors == "off" and given.cors_origin:
        raise SettingsError("--cors off and --cors-origin contradict each other; give one of them")
    deployment = _deployment(given)
    values = {each.setting: _given(given, each) for each in OPTIONS if each.setting}
    return {
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()},
        "choices": (read_profile(given.profile) if given.profile else {}) | dict(given.open),
        "conditions": dict(given.condition) | ({"rate-limit": given.rate_limit} if given.rate_limit else {}),
        "cors_origins": tuple(given.cors_origin) or ("*",) if given.cors == "on" else (),
        "clock": system_clock if given.clock == "system" else None,
        "deployment": deployment,
    }


def _deployment(given: argparse.Namespace) -> Deployment | None:
    """The deployment that requests are forwarded to, if any.

    Raises:
        SettingsError: if an option does not go with that.
    """
    used = [each for each in OPTIONS if _is_used(given, each)]
    if given.forward_to is None:
        for each in used:
            if each.group == FRONT:
                raise SettingsError(f"{each.flag} goes with --forward-to URL; give both")
        return None
    for each in used:
        is_of_a_mock = each.group in (DATA, BEHAVIOUR, SHARED) and each.flag not in ("--journal", "--condition")
        if is_of_a_mock:
            raise SettingsError(f"{each.flag} does not apply: {FORWARDS.format(shown_url(given.forward_to))}")
    if given.verbatim and not given.record:
        raise SettingsError("--verbatim goes with --record FILE; give both")
    if given.client_key and not given.client_cert:
        raise SettingsError("--client-key goes with --client-cert FILE; give both")
    return Deployment(
        url=given.forward_to,
        read_only=given.read_only,
        rewrite_links=given.rewrite_links,
        is_recorded=given.record is not None,
        timeout=given.timeout,
        ca_bundle=given.ca_bundle,
        insecure=given.insecure,
        client_certificate=given.client_cert,
        client_key=given.client_key,
    )


def _given(given: argparse.Namespace, option: Option) -> Any:
    return getattr(given, option.flag[2:].replace("-", "_"))


def _is_used(given: argparse.Namespace, option: Option) -> bool:
    value = _given(given, option)
    return value is not None and value is not False and value != [] and value != option.how.get("default")
