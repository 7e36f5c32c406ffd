# question: q156-api-groups · style: verbose · author: a careful enterprise engineer
from typing import Set

from kubernetes import client


def named_groups() -> Set[str]:
    """Names of all API groups except the core group."""
    groups = client.ApisApi().get_api_versions().groups
    return {g.name for g in groups if g.name}


def main() -> int:
    """Number of named API groups."""
    return len(named_groups())


main()
