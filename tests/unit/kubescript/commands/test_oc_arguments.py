"""Only listed commands with listed flags pass, however they are spelled."""

from __future__ import annotations

import itertools

import pytest

from kubescript import errors
from kubescript.commands import line, oc_arguments, oc_commands

READ_ONLY = oc_arguments.Rules()
WRITING = oc_arguments.Rules(allow_write=True)

READS = """
    oc -n foo get pods
    oc get -n foo pods
    oc get pods -nfoo
    oc get pods -n=foo
    oc get pods --namespace=foo
    oc --v=9 adm top pods
    oc adm --v=9 top pods
    oc adm top -v9 no
    kubectl get pods -A -o wide
    get pods -Aw
    get pods -Awojson
    get pods -Ao json
    get pods -w=false -o=yaml
    get pods --watch=true --output name
    get deploy,sts -L app,tier -l app=a --sort-by=.metadata.name --show-labels
    get pod x --subresource=status -o jsonpath={.status}
    get pods -o custom-columns=A:.metadata.name --no-headers
    get pods -o go-template='{{range .items}}{{.metadata.name}}{{end}}'
    get pods --help
    get pods -h
    get -- pods
    logs --follow=false ledger-0 -n payments -c ledger --tail=20 --since 5m
    logs -p ledger-0 --tail=-1
    logs deploy/api --all-containers --prefix --timestamps
    explain pods.spec --recursive
    explain pod -R
    describe pod -l app=web --show-events=false
    events --for pod/ledger-0 --types=Warning
    wait --for=condition=Ready pod/ledger-0 --timeout=1s
    auth can-i --list -n shop
    auth can-i get pods -q
    auth whoami -o yaml
    api-resources --verbs=list --namespaced -o name
    api-versions
    version --client -o json
    top po -A --sort-by=cpu --containers
    top node node-a1 --no-headers
    rollout status deploy/web -w=false
    rollout history deploy/web --revision=2
    adm policy who-can get pods -A
    adm policy scc-review -z default
    policy scc-subject-review -z default
    adm node-logs node-a1 -u kubelet --tail=5
    adm wait-for-stable-cluster --timeout 1m
    image info --filter-by-os=linux/amd64 busybox
    status --suggest
    projects -q
    whoami --show-server
    help logs
    options
"""

WRITES = """
    scale deploy/web --replicas=3 -n shop
    scale -n shop deploy web --replicas 3 --current-replicas=2
    autoscale deploy web --min=1 --max 3 --cpu=50%
    rollout restart deploy/web
    rollout undo deploy/web --to-revision=1
    rollout pause deploy/web
    rollout resume deploy/web
    label pod x a=b c- --overwrite
    annotate pod x a=b --dry-run=server
    set image deploy/web web=web:2
    set env deploy/web -e A=b --list
    set resources deploy/web --limits=cpu=1
    set sa deploy/web default
    delete pod x --grace-period=0 --force --wait=false
    patch deploy web -p '{"spec":{"paused":true}}' --type=merge
    create cm settings --from-literal=a=b
    create deployment web --image=web:1 -r 2
    create job one --from=cronjob/import
    create svc clusterip web --tcp=80
    create ns new
    expose deploy web --port=80
    run web --image=web:1 --restart=Never --command -- sleep 10
    cordon node-a2
    uncordon node-a2
    drain node-a2 --ignore-daemonsets
    taint nodes node-a2 a=b:NoSchedule
    adm cordon node-a2
    adm drain node-a2 --ignore-daemonsets --delete-emptydir-data
"""

ALWAYS_REFUSED = """
    cluster-info dump --output-directory=/tmp
    config view --raw
    create token default
    create secret generic x --from-literal=a=b
    create rolebinding x --clusterrole=admin --serviceaccount=a:b
    create clusterrolebinding x --clusterrole=cluster-admin --serviceaccount=a:b
    set subject rolebinding x --serviceaccount=a:b
    certificate approve x
    auth reconcile
    apply
    apply view-last-applied deploy/web
    adm policy remove-group x y
    adm policy add-cluster-role-to-user cluster-admin x
    adm inspect ns/x
    adm must-gather
    adm policy
    adm
    rollout
    create
    get-token
    login
    logout
    project x
    completion bash
    plugin list
    foo
    foo get pods
    sudo get pods
    /usr/bin/oc get pods
    KUBECONFIG=/x oc get pods
    rollout status-of x
    Get pods
    getpods
    "get pods"
    ''
    '' get pods
    - get pods
"""

# cobra finds the command before it knows the flags of the command: it takes the word after an unknown flag for a value.
# The real kubectl takes `delete`, `undo`, `reconcile` or `node` for the command here, and does delete in the first two.
TRICKS = """
    --help events delete --all --help=false
    -h events delete --all --help=false
    rollout --show-managed-fields history undo deploy/web
    rollout -w status undo deploy/web
    auth --quiet can-i reconcile
    top --no-headers pod node
    --all-namespaces get delete pods
    -A get delete pods
    --foo get delete pods
    adm policy --all-namespaces who-can remove-group x
"""

NAMES_OF_OTHERS = (
    "--server", "--kubeconfig", "--kuberc", "--cluster", "--context", "--user", "--certificate-authority",
    "--client-certificate", "--client-key", "--insecure-skip-tls-verify", "--tls-server-name", "--match-server-version",
    "--token", "--username", "--password", "--as", "--as-group", "--as-uid", "--as-user-extra", "--cache-dir",
    "--profile", "--profile-output", "--log-file", "--log-dir", "--filename", "--kustomize", "--raw", "--template",
)  # fmt: skip


def listed(text: str) -> list[str]:
    return [row.strip() for row in text.strip().splitlines()]


def checked(text: str, rules: oc_arguments.Rules = READ_ONLY) -> oc_commands.Command:
    return oc_arguments.check(line.split(text, "oc"), rules)


def code(text: str, rules: oc_arguments.Rules = READ_ONLY) -> str:
    with pytest.raises(errors.PolicyDenied) as caught:
        checked(text, rules)
    assert caught.value.message
    return caught.value.code


@pytest.mark.parametrize("text", listed(READS))
def test_reads_pass_in_every_spelling_that_kubectl_takes(text: str) -> None:
    assert checked(text) in oc_commands.READS
    assert checked(text, WRITING) in oc_commands.READS


@pytest.mark.parametrize("text", listed(WRITES))
def test_known_writes_pass_only_where_the_operator_allows_writes(text: str) -> None:
    assert code(text) == "policy.command"
    assert checked(text, WRITING) in oc_commands.WRITES


@pytest.mark.parametrize("text", listed(ALWAYS_REFUSED))
def test_blocked_and_unknown_commands_are_refused_whatever_the_operator_allows(text: str) -> None:
    assert code(text) in {"policy.command", "policy.argument"}
    assert code(text, WRITING) in {"policy.command", "policy.argument"}


@pytest.mark.parametrize("text", listed(TRICKS))
def test_no_flag_before_the_command_hides_another_command(text: str) -> None:
    assert code(text, WRITING) == "policy.argument"


@pytest.mark.parametrize("name", NAMES_OF_OTHERS)
def test_a_refused_flag_is_refused_in_every_place_and_spelling(name: str) -> None:
    for text in (
        f"{name}=x get pods", f"{name} x get pods", f"get {name}=x pods", f"get pods {name} x", f"get pods {name}",
        f"get pods -A {name}=x", f"get pods -- {name}=x", f"get pods -- {name} x", f"get pods '{name}=x'",
        f"get pods {name}=x -n {name}=y", f"get pods -l {name}=x", f"-n {name}=x get pods",
        f"get pods {name.replace('e', chr(92) + 'e')}=x", f"get pods {name}='' {name}=x",
    ):  # fmt: skip
        assert code(text, WRITING) == "policy.argument"


def test_a_flag_passes_by_its_exact_name_only() -> None:
    for text in (
        "get --namespac=x pods", "get --all_namespaces pods", "get ---namespace=x pods", "get --Namespace=x pods",
        "get --=x pods", "get --watch-onl pods", "get pods -Z", "get pods -Afx", "get pods -kubeconfig", "get pods -wsx",
    ):  # fmt: skip
        assert code(text) == "policy.argument"


def test_only_formats_that_read_no_file_pass() -> None:
    for value in (
        "go-template-file=/etc/passwd", "jsonpath-file=/etc/passwd", "custom-columns-file=x", "templatefile=x", "dot",
        "jsonpath", "go-template", "", "JSON", "json,yaml",
    ):  # fmt: skip
        for text in (f"get pods -o '{value}'", f"get pods --output='{value}'", f"get -wo='{value}' pods"):
            assert code(text) == "policy.argument"
        assert code(f"get pods -o json -o '{value}'") == "policy.argument"


def test_a_value_never_hides_a_flag() -> None:
    assert code("get pods -l --watch") == "policy.argument"
    assert code("logs x --tail -1") == "policy.argument"
    assert code("get pods -n") == "policy.argument"
    assert code("get pods --sort-by") == "policy.argument"


def test_a_level_of_messages_is_a_small_number() -> None:
    assert checked("get pods -v 0 --v=9 -v10") == ("get",)
    for value in ("11", "x", "", "-1", "+1", "1e1", "٣", "99999999999999999999"):
        assert code(f"get pods --v={value}") == "policy.argument"


def test_messages_say_what_to_write_instead() -> None:
    for text, instead in (
        ("get pods -f x", "return the manifest"),
        ("apply x", "patch, set, scale"),
        ("--server=x get pods", "this server chooses the cluster"),
        ("whoami -t", "this server sets the credentials"),
        ("get --raw /api", "get RESOURCE -o json"),
        ("scale deploy/x --replicas=0", "this server only reads"),
        ("foo", "no plugins"),
        ("-A get pods", "before the words of a command"),
        ("logs x --tail -1", "--tail=-1"),
        ("exec x -- sh", "logs, describe and events"),
    ):
        with pytest.raises(errors.PolicyDenied, match=instead):
            checked(text)


def test_an_operator_s_lists_replace_the_defaults() -> None:
    own = oc_arguments.Rules(allowed=("get", "adm  top", "adm policy who-can", "foo"), blocked=("adm policy", "top po"))
    assert checked("get pods", own) == ("get",)
    assert checked("adm top pods", own) == ("adm", "top", "pod")
    assert checked("adm policy who-can get pods", own) == ("adm", "policy", "who-can")
    assert checked("foo -n x bar", own) == ("foo",)
    for text in ("describe pod x", "adm policy scc-review -z x", "top pods", "foo -x", "foo --token=x", "exec x -- sh"):
        assert code(text, own) in {"policy.command", "policy.argument"}


def test_a_command_that_the_operator_blocks_is_blocked_with_all_that_begins_with_it() -> None:
    own = oc_arguments.Rules(blocked=("rollout", "create", "top nodes"), allow_write=True)
    for text in ("rollout status deploy/x", "create cm x", "top no", "create ns x"):
        assert code(text, own) == "policy.command"
    assert checked("scale deploy/x --replicas=1", own) == ("scale",)
    assert code("exec x -- sh", own) == "policy.command"
    both = oc_arguments.Rules(allowed=("get", "top", "exec"), blocked=("top",))
    for text in ("top po", "exec x -- sh"):
        assert code(text, both) == "policy.command"
    assert checked("get pods", both) == ("get",)


def test_an_empty_entry_allows_and_blocks_nothing() -> None:
    assert code("exec x", oc_arguments.Rules(allowed=("", "get"), blocked=())) == "policy.command"
    assert checked("get pods", oc_arguments.Rules(blocked=("",))) == ("get",)


def test_thousands_of_letters_and_words_are_read() -> None:
    assert oc_arguments.check(["get", "pods", "-" + "A" * 16_000], READ_ONLY) == ("get",)
    many = list(itertools.repeat("-A", 10_000))
    assert oc_arguments.check(["get", "pods", *many], READ_ONLY) == ("get",)
    with pytest.raises(errors.PolicyDenied):
        oc_arguments.check(["get", "pods", *many, "--token=x"], READ_ONLY)
