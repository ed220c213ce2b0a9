"""Write data/moa_trees.json: the predictions of MOA's own HoeffdingTree, as hashes.

Needs capymoa (which includes MOA) and Java, and HEROS_DATA for the real streams.

    python tests/make_moa_golden.py [stream ...]
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import capymoa  # noqa: F401  starts Java
import jpype
import numpy as np

from heros import streams

GOLDEN = Path(__file__).parent / "data" / "moa_trees.json"


def header(schema: Any) -> Any:
    from com.yahoo.labs.samoa.instances import Attribute, Instances, InstancesHeader  # noqa: PLC0415
    from java.util import ArrayList  # noqa: PLC0415

    def nominal(name: str, n: int) -> Any:
        values = ArrayList()
        for i in range(n):
            values.add(str(i))
        return Attribute(name, values)

    attributes = ArrayList()
    for i, feature in enumerate(schema.features):
        attributes.add(nominal(f"x{i}", len(feature.values)) if feature.values else Attribute(f"x{i}"))
    attributes.add(nominal("class", schema.n_classes))
    instances = Instances("stream", attributes, 0)
    instances.setClassIndex(schema.n_features)
    return InstancesHeader(instances)


def answers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return MOA's predicted classes and the true classes, in test-then-train order."""
    from com.yahoo.labs.samoa.instances import DenseInstance  # noqa: PLC0415
    from moa.classifiers.trees import HoeffdingTree  # noqa: PLC0415

    stream = streams.load(name)
    tree, known = HoeffdingTree(), header(stream.schema)
    tree.setModelContext(known)
    tree.prepareForUse()
    found, truth = [], []
    for X, y in stream.blocks(4096):
        for row in np.column_stack([X, y]):
            instance = DenseInstance(1.0, jpype.JArray(jpype.JDouble)(row))
            instance.setDataset(known)
            votes = list(tree.getVotesForInstance(instance))
            found.append(votes.index(max(votes)) if votes else 0)
            tree.trainOnInstance(instance)
        truth.append(y)
    return np.array(found, dtype=np.uint8), np.concatenate(truth)


def main(names: list[str]) -> None:
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    for name in names or streams.NAMES:
        found, truth = answers(name)
        accuracy = round(100 * float((found == truth).mean()), 4)
        golden[name] = {"accuracy": accuracy, "sha256": hashlib.sha256(found.tobytes()).hexdigest()}
        GOLDEN.write_text(json.dumps(dict(sorted(golden.items())), indent=1) + "\n")
        print(name, accuracy, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
