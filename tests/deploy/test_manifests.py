"""The Kubernetes manifests: valid by the schemas, and consistent with each other, the image and the binary.

Nothing here talks to a cluster. Rendering is kustomize.py's, and is held against `kubectl kustomize` where that exists.
"""

import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import kubernetes_validate
import pytest
import yaml

from kustomize import render

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
FOLDERS = {"base": DEPLOY / "kubernetes/base", "example": DEPLOY / "kubernetes/overlays/example"}
# The oldest version with everything we use, and the newest one whose schemas we have.
VERSIONS = ["1.29", kubernetes_validate.latest_version()]
WORKLOADS = {"catalog": ("StatefulSet", 50060), "planner": ("Deployment", 50051), "flight-server": ("Deployment", 50052)}


@pytest.fixture(params=FOLDERS)
def objects(request):
    return render(FOLDERS[request.param])


def of_kind(objects, *kinds):
    return {o["metadata"]["name"]: o for o in objects if o["kind"] in kinds}


def pods(objects):
    return {n: o["spec"]["template"] for n, o in of_kind(objects, "Deployment", "StatefulSet").items()}


def container(pod):
    [only] = pod["spec"]["containers"]
    return only


def environment(pod):
    return {e["name"]: e.get("value") for e in container(pod)["env"]}


def selected(objects, labels):
    return [n for n, pod in pods(objects).items() if labels.items() <= pod["metadata"]["labels"].items()]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid_by_the_strict_schema(objects, version):
    assert objects
    for o in objects:
        kubernetes_validate.validate(o, version, strict=True)


def test_the_strict_schema_does_refuse_a_misspelt_field(objects):
    pod = container(pods(objects)["planner"])
    pod["readynessProbe"] = pod.pop("readinessProbe")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(of_kind(objects, "Deployment")["planner"], VERSIONS[0], strict=True)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
@pytest.mark.parametrize("folder", FOLDERS.values(), ids=list(FOLDERS))
def test_kubectl_renders_the_same_objects(folder):
    out = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True, text=True, timeout=60)
    theirs = [d for d in yaml.safe_load_all(out.stdout) if d]
    key = lambda o: (o["kind"], o["metadata"]["name"])
    assert sorted(theirs, key=key) == sorted(render(folder), key=key)


def test_the_three_services_are_there(objects):
    kinds = {n: o["kind"] for n, o in of_kind(objects, "Deployment", "StatefulSet").items()}
    assert kinds == {name: kind for name, (kind, _) in WORKLOADS.items()}
    assert [container(pod)["args"] for pod in pods(objects).values()] == [[name] for name in pods(objects)]


def test_selectors_match_the_labels_of_exactly_the_pods_they_mean(objects):
    for name, o in of_kind(objects, "Deployment", "StatefulSet").items():
        assert selected(objects, o["spec"]["selector"]["matchLabels"]) == [name]
    for kind in ("Service", "PodDisruptionBudget"):
        for name, o in of_kind(objects, kind).items():
            selector = o["spec"]["selector"]
            assert selected(objects, selector.get("matchLabels", selector)) == [name], f"{kind}/{name}"
    for policy in of_kind(objects, "NetworkPolicy").values():
        peers = [peer["podSelector"] for rule in policy["spec"]["ingress"] for peer in rule["from"]]
        for selector in [policy["spec"]["podSelector"], *peers]:
            assert len(selected(objects, selector["matchLabels"])) == 1


def test_services_reach_the_port_that_the_pod_listens_on(objects):
    services = of_kind(objects, "Service")
    assert services.keys() == WORKLOADS.keys()
    for name, (_, port) in WORKLOADS.items():
        pod = pods(objects)[name]
        ports = {p["name"]: p["containerPort"] for p in container(pod)["ports"]}
        [service_port] = services[name]["spec"]["ports"]
        assert ports[service_port["targetPort"]] == service_port["port"] == port
        assert environment(pod)["FULMAR_LISTEN"] == f"0.0.0.0:{port}"


def test_flight_servers_stand_behind_a_headless_service_that_the_planner_resolves(objects):
    services = of_kind(objects, "Service")
    assert services["flight-server"]["spec"]["clusterIP"] == "None"
    config = of_kind(objects, "ConfigMap")["fulmar"]["data"]
    for variable, service in (("FULMAR_FLIGHT_SERVERS", "flight-server"), ("FULMAR_CATALOG", "catalog")):
        url = urllib.parse.urlparse(config[variable])
        assert (url.hostname, url.port) == (service, services[service]["spec"]["ports"][0]["port"])
    assert config["FULMAR_FLIGHT_SERVERS"].startswith("dns+http://")


def test_a_flight_server_advertises_its_own_pod(objects):
    env = container(pods(objects)["flight-server"])["env"]
    names = [e["name"] for e in env]
    # Kubernetes expands $(NAME) only of variables that come before.
    assert names.index("POD_IP") < names.index("FULMAR_ADVERTISE")
    assert environment(pods(objects)["flight-server"])["FULMAR_ADVERTISE"] == "grpc+tcp://$(POD_IP):50052"


def seconds(text):
    """A time as the binary reads it."""
    number, unit = re.fullmatch(r"(\d+)([sm])", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def test_every_pod_has_time_to_finish_its_streams_before_it_is_killed(objects):
    for name, pod in pods(objects).items():
        sleep = container(pod).get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
        assert sleep[0] == "sleep"
        # The last reports take up to four seconds more.
        needed = int(sleep[1]) + seconds(environment(pod)["FULMAR_DRAIN_LIMIT"]) + 4
        assert needed < pod["spec"]["terminationGracePeriodSeconds"], name


def test_what_has_other_replicas_waits_until_it_is_no_longer_asked(objects):
    waiting = [name for name, pod in pods(objects).items() if "preStop" in container(pod).get("lifecycle", {})]
    assert sorted(waiting) == ["flight-server", "planner"]


def test_flight_servers_of_the_example_hold_less_than_their_pods_memory():
    flight_server = pods(render(FOLDERS["example"]))["flight-server"]
    limit = environment(flight_server)["FULMAR_MEMORY_LIMIT"]
    assert int(limit.removesuffix("GiB")) * 2 <= int(container(flight_server)["resources"]["limits"]["memory"].removesuffix("Gi"))


def test_a_stateful_set_names_its_own_service_and_mounts_its_claim(objects):
    for o in of_kind(objects, "StatefulSet").values():
        assert o["spec"]["serviceName"] in of_kind(objects, "Service")
        claims = {c["metadata"]["name"] for c in o["spec"]["volumeClaimTemplates"]}
        mounted = {m["name"]: m["mountPath"] for m in container(o["spec"]["template"])["volumeMounts"]}
        assert claims <= mounted.keys()
        assert environment(o["spec"]["template"])["FULMAR_DATABASE"].startswith(mounted["state"] + "/")


def test_every_mount_has_its_volume(objects):
    for name, o in of_kind(objects, "Deployment", "StatefulSet").items():
        volumes = [v["name"] for v in o["spec"]["template"]["spec"]["volumes"]]
        volumes += [c["metadata"]["name"] for c in o["spec"].get("volumeClaimTemplates", [])]
        mounts = [m["name"] for m in container(o["spec"]["template"])["volumeMounts"]]
        assert sorted(volumes) == sorted(mounts), name


def test_every_config_map_and_secret_exists_or_its_making_is_documented(objects):
    documented = set(re.findall(r"create secret generic ([\w-]+)", (DEPLOY / "README.md").read_text()))
    config_maps = of_kind(objects, "ConfigMap")
    for pod in pods(objects).values():
        for source in container(pod)["envFrom"]:
            assert source["configMapRef"]["name"] in config_maps
        refs = [e["valueFrom"]["secretKeyRef"]["name"] for e in container(pod)["env"] if "secretKeyRef" in e.get("valueFrom", {})]
        refs += [v["secret"]["secretName"] for v in pod["spec"]["volumes"] if "secret" in v]
        assert set(refs) <= documented


def test_no_secret_is_committed(objects):
    assert not of_kind(objects, "Secret")


def test_whoever_signs_or_checks_tickets_mounts_the_keys(objects):
    for name, pod in pods(objects).items():
        mounts = {m["mountPath"] for m in container(pod)["volumeMounts"]}
        keys = environment(pod).get("FULMAR_TICKET_KEYS_FILE")
        if name == "catalog":
            assert keys is None and "/etc/fulmar/ticket" not in mounts
        else:
            assert str(pathlib.PurePosixPath(keys).parent) in mounts


def test_only_catalog_and_flight_servers_hold_store_credentials():
    rendered = pods(render(FOLDERS["example"]))
    holders = {n for n, pod in rendered.items() if "AWS_SECRET_ACCESS_KEY" in environment(pod)}
    assert holders == {"catalog", "flight-server"}


def test_every_container_is_probed_over_grpc_on_its_own_port(objects):
    for name, pod in pods(objects).items():
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container(pod)[probe]["grpc"]["port"] == WORKLOADS[name][1], f"{name} {probe}"


def test_every_container_is_locked_down_and_bounded(objects):
    for pod in pods(objects).values():
        c, pod_security = container(pod), pod["spec"]["securityContext"]
        assert pod_security["runAsNonRoot"] and pod_security["runAsUser"] > 0
        assert pod_security["seccompProfile"]["type"] == "RuntimeDefault"
        assert c["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert c["resources"]["requests"].keys() == {"cpu", "memory"} and "memory" in c["resources"]["limits"]
        assert pod["spec"]["automountServiceAccountToken"] is False


def test_the_autoscaler_drives_flight_servers_by_cpu_and_nothing_else_sets_their_number(objects):
    [scaler] = of_kind(objects, "HorizontalPodAutoscaler").values()
    assert scaler["spec"]["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "flight-server"}
    assert [m["resource"]["name"] for m in scaler["spec"]["metrics"]] == ["cpu"]
    assert "replicas" not in of_kind(objects, "Deployment")["flight-server"]["spec"]


def test_what_has_replicas_has_a_disruption_budget(objects):
    assert of_kind(objects, "PodDisruptionBudget").keys() == {"planner", "flight-server"}


def test_the_binary_knows_every_variable_that_the_manifests_set(objects):
    known = {name: help_of(name) for name in WORKLOADS}
    for name, pod in pods(objects).items():
        for variable in environment(pod):
            assert not variable.startswith("FULMAR_") or variable in known[name], f"{name}: {variable}"
    for variable in of_kind(objects, "ConfigMap")["fulmar"]["data"]:
        if variable.startswith("FULMAR_"):
            assert any(variable in names for names in known.values()), variable


def help_of(service):
    """The variables that `fulmar SERVICE --help` names."""
    binary = os.environ.get("FULMAR_BIN")
    assert binary, "set FULMAR_BIN to the fulmar binary"
    out = subprocess.run([binary, service, "--help"], check=True, capture_output=True, text=True, timeout=30)
    return set(re.findall(r"\bFULMAR_[A-Z_]+", out.stdout))


def test_the_image_holds_only_the_binary_and_runs_as_a_number():
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    instructions = [line.split() for line in lines if re.match(r"[A-Z]+ ", line)]
    stages = [words for words in instructions if words[0] == "FROM"]
    assert [words[1] for words in stages] == ["rust:1.95-bookworm", "debian:bookworm-slim"]
    final = instructions[instructions.index(stages[1]) :]
    assert [words for words in final if words[0] in ("COPY", "ADD")] == [["COPY", "--from=build", "/out/fulmar", "/usr/local/bin/fulmar"]]
    assert ["USER", "65532:65532"] in final
    assert ["ENTRYPOINT", '["/usr/local/bin/fulmar"]'] in final


def test_the_image_is_built_with_the_toolchain_that_the_workspace_asks_for():
    manifest = (DEPLOY.parent / "Cargo.toml").read_text()
    version = re.search(r'^rust-version = "([\d.]+)"', manifest, re.M).group(1)
    assert f"FROM rust:{version}-bookworm AS build" in (DEPLOY / "Dockerfile").read_text()


def test_every_member_of_the_workspace_reaches_the_image_build():
    manifest = (DEPLOY.parent / "Cargo.toml").read_text()
    members = re.findall(r'"([\w-]+)"', re.search(r"^members = \[(.*?)\]", manifest, re.M | re.S).group(1))
    let_through = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    assert {f"!{m}" for m in [*members, "src", "Cargo.toml", "Cargo.lock"]} <= set(let_through)
