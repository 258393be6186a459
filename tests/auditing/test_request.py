"""The options of `audit` are those of a `Request`, one by one and in groups."""

import inspect
from dataclasses import fields

import labelproof as lp
from labelproof.auditing import auditor
from labelproof.auditing.request import Request


def options():
    return {name: one for name, one in inspect.signature(lp.audit).parameters.items() if one.kind is one.KEYWORD_ONLY}


def values_of(request):
    """Return the options that a request holds in its groups; a name that stands in two groups is an error."""
    groups = [getattr(request, group.name) for group in fields(request)]
    held = [(one.name, getattr(group, one.name)) for group in groups for one in fields(group)]
    assert len(dict(held)) == len(held)
    return dict(held)


def test_the_groups_hold_every_option_with_its_default():
    assert values_of(Request()) == {name: one.default for name, one in options().items()}


def test_every_option_arrives_under_its_own_name(monkeypatch):
    given = {name: f"the {name}" for name in options()}
    monkeypatch.setattr(auditor, "conduct", lambda model, labels, request: (model, labels, values_of(request)))
    assert lp.audit("a model", "some labels", **given) == ("a model", "some labels", given)
