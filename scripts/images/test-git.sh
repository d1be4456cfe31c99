#!/bin/sh
# Tests that the agent can parse the output of git, curl, and ssh in its image, whose Debian packages are not pinned.
#   test-git.sh IMAGE   needs docker; the dependencies in package.json are installed
set -eu
cd "$(dirname "$0")/../.."
# The ssh server is from the same release of Debian. A full disk is a small file system that the test mounts.
docker run --rm --user 0 --cap-add SYS_ADMIN --security-opt apparmor=unconfined \
  --volume "$PWD:/src:ro" --workdir /src --entrypoint sh "$1" -c '
    apt-get update -qq && apt-get install -y -qq --no-install-recommends openssh-server openssl >/dev/null
    git version && exec env TEST_DEPTH=full node --test tests/unit/agent/git/git-contract.test.ts'
