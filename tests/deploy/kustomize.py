"""Renders the part of kustomize that our manifests use, so that they are tested where kubectl is not installed.

It owns resources, strategic merges by name, JSON patches with add and replace, images, replicas, namespace and labels.
It must refuse whatever else a kustomization says: silence would test something other than what is applied.
"""

import copy
import pathlib

import yaml

KNOWN = {"apiVersion", "kind", "labels", "resources", "images", "namespace", "replicas", "patches"}


def render(folder):
    """All objects of a kustomization folder, as they would be applied."""
    folder = pathlib.Path(folder)
    spec = yaml.safe_load((folder / "kustomization.yaml").read_text())
    unknown = set(spec) - KNOWN
    assert not unknown, f"{folder}: the renderer does not know {sorted(unknown)}"
    objects = []
    for resource in spec["resources"]:
        path = folder / resource
        objects += render(path) if path.is_dir() else documents(path)
    for patch in spec.get("patches", []):
        apply_patch(objects, folder / patch["path"], patch.get("target"))
    for entry in spec.get("replicas", []):
        [workload] = [o for o in objects if o["metadata"]["name"] == entry["name"] and "replicas" in o.get("spec", {})]
        workload["spec"]["replicas"] = entry["count"]
    for image in spec.get("images", []):
        set_image(objects, image)
    for labels in spec.get("labels", []):
        for o in objects:
            o["metadata"].setdefault("labels", {}).update(labels["pairs"])
    if "namespace" in spec:
        for o in objects:
            o["metadata"]["namespace"] = spec["namespace"]
    return objects


def documents(path):
    """Every YAML document of a file."""
    return [d for d in yaml.safe_load_all(path.read_text()) if d]


def apply_patch(objects, path, target):
    for patch in [yaml.safe_load(path.read_text())] if target else documents(path):
        kind, name = (target["kind"], target["name"]) if target else (patch["kind"], patch["metadata"]["name"])
        found = [i for i, o in enumerate(objects) if (o["kind"], o["metadata"]["name"]) == (kind, name)]
        assert len(found) == 1, f"{path}: {kind}/{name} matches {len(found)} objects"
        if target:
            json_patch(objects[found[0]], patch)
        else:
            objects[found[0]] = merge(objects[found[0]], patch)


def json_patch(target, operations):
    for operation in operations:
        *parents, last = operation["path"].strip("/").split("/")
        place = target
        for key in parents:
            place = place[key]
        assert operation["op"] == "add" or (operation["op"] == "replace" and last in place), operation
        place[last] = operation["value"]


def merge(base, patch):
    """A strategic merge: maps by key, lists of named things by name, those of the patch first, as kustomize has it."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return base | {k: merge(base[k], v) if k in base else v for k, v in patch.items()}
    if isinstance(base, list) and isinstance(patch, list) and all("name" in x for x in base + patch):
        named = {x["name"]: x for x in base}
        changed = [merge(named.pop(x["name"]), x) if x["name"] in named else x for x in patch]
        return changed + list(named.values())
    return copy.deepcopy(patch)


def set_image(objects, image):
    for o in objects:
        for container in o.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            if container["image"].split(":")[0] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"
