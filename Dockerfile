# The three images: docker build --target controller|receiver|agent .
# Built for linux/amd64 and linux/arm64. Build steps run on the builder's platform, except apt-get and copying files.
#
# The base is pinned by the digest of its index, which covers both platforms. To update it:
#   docker buildx imagetools inspect node:VERSION-trixie-slim --format '{{.Manifest.Digest}}'
# Debian's packages aren't pinned, so that a rebuild includes their security updates; the SBOM of a release lists them.
# Before an image of the agent is pushed, scripts/images/test-git.sh tests that the agent can parse its git's output.
#
# The ENTRYPOINT lines are the only place for the flags of Node; scripts/images/assemble-root.ts prints them for other builders.
ARG NODE_IMAGE=docker.io/library/node:26.10.0-trixie-slim@sha256:930557a230abacbc3f4fd9b8648abf8f4bee1e17cb72195dcdfb2f709bc85b33

FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY . .
RUN node scripts/build.ts controller receiver agent \
 && for program in controller receiver agent; do node scripts/images/assemble-root.ts "$program" "/out/$program"; done

FROM ${NODE_IMAGE} AS system
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-client \
 && rm -rf /var/lib/apt/lists/*
COPY scripts/images/make-root.sh /
# git starts ssh with sh, which finds only these programs.
RUN /make-root.sh /roots/receiver node \
 && /make-root.sh /roots/controller node git ssh sh

FROM scratch AS base
# One arena of the C library instead of one per thread saves 10 to 20 MB.
ENV PATH=/usr/local/bin:/usr/bin NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
USER 65532:65532

# V8's old space gets half of the container's memory for any limit that users set; a fixed size would override it. The rest is for code, buffers, and other memory of the process.
FROM base AS receiver
COPY --from=system /roots/receiver /
COPY --from=build /out/receiver /
# One thread promotes objects, because several fragment the old space: that takes 15 MB more and sometimes makes V8 collect the whole heap repeatedly for seconds.
# `--optimize-for-size` makes code slower and hardly saves memory. `--single-threaded-gc` lets the buffers of a flood of requests accumulate (139 MB).
ENTRYPOINT ["node", "--no-parallel-scavenge", "--max-semi-space-size=4", "--max-old-space-size-percentage=50", "/app/receiver.mjs"]

FROM base AS controller
COPY --from=system /roots/controller /
COPY --from=build /out/controller /
ENTRYPOINT ["node", "--max-semi-space-size=1", "--optimize-for-size", "--max-old-space-size-percentage=50", "/app/controller.mjs"]

# Full git, for fetches over every transport. It runs as any user, and its shell is there for debugging in a gateway's pod.
FROM ${NODE_IMAGE} AS agent
# gpg checks OpenPGP signatures, nss-wrapper gives ssh a name for a user that has no passwd entry, and tini (30 KB) reaps processes that git leaves. npm and yarn are removed, and so is the program with which git downloads packs from URLs that a server chooses.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git gpg libnss-wrapper openssh-client tini \
 && rm /usr/lib/git-core/git-http-fetch \
 && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /opt/yarn-* /usr/local/bin/yarn /usr/local/bin/yarnpkg
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
USER 65532:65532
COPY --from=build /out/agent /
# If git is killed, its helpers become children of process 1, and Node waits only for its own children: each would remain a zombie, up to the limit of processes. With -s, tini also works if it isn't process 1, as in pods that share one process namespace.
ENTRYPOINT ["tini", "-s", "--", "node", "--max-semi-space-size=2", "--max-old-space-size-percentage=50", "/app/agent.mjs"]
