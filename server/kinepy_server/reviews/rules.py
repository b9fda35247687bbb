"""SelfSubjectRulesReview: all that the user may do in a namespace."""

from kinepy_server.auth.rbac.rules import Rule, rule_object
from kinepy_server.context import Context
from kinepy_server.errors import bad_request
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject


def check_own_rules(request: Request, obj: JsonObject) -> None:
    """Raise what is wrong with the question."""
    if not (obj.get("spec") or {}).get("namespace"):
        raise bad_request("no namespace on request")


async def review_own_rules(context: Context, request: Request, obj: JsonObject) -> None:
    """List the user's rules. The answer is another object than the question."""
    held = context.identity.authorizer.held(request.user, obj["spec"]["namespace"])
    obj["metadata"], obj["spec"] = {}, {}
    obj["status"] = {
        "resourceRules": [_part(rule, urls=False) for rule in held.rules if rule.resources],
        "nonResourceRules": [_part(rule, urls=True) for rule in held.rules if rule.urls],
        "incomplete": False,
    }
    if held.problem:
        obj["status"]["evaluationError"] = held.problem


def _part(rule: Rule, *, urls: bool) -> JsonObject:
    names = {"verbs", "nonResourceURLs"} if urls else {"verbs", "apiGroups", "resources", "resourceNames"}
    return {name: value for name, value in rule_object(rule).items() if name in names}
