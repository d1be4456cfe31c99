# The three images: docker build --target controller|receiver|agent .
# Built for linux/amd64 and linux/arm64; what runs during the build runs on the builder, but for apt-get and a copy of files.
#
# The base is pinned by the digest of its index, which stands for both platforms. To move it:
#   docker buildx imagetools inspect node:VERSION-trixie-slim --format '{{.Manifest.Digest}}'
# Debian's packages are not pinned, so that a rebuild brings their security updates; the SBOM of a release says what it holds.
# Before an image of the agent is pushed, scripts/images/test-git.sh tests that the agent understands what its git prints.
#
# The ENTRYPOINT lines are the one place for the flags of Node; scripts/images/assemble-root.ts prints them for other builders.
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
# git starts ssh by sh, which is alone there: it finds no program but these.
RUN /make-root.sh /roots/receiver node \
 && /make-root.sh /roots/controller node git ssh sh

FROM scratch AS base
# One arena of the C library instead of one a thread: 10 to 20 MB less.
ENV PATH=/usr/local/bin:/usr/bin NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
USER 65532:65532

# Half of the container's memory is for V8's old space, whatever limit a person sets; a fixed size would win over it. The rest is for code, buffers and what else the process needs.
FROM base AS receiver
COPY --from=system /roots/receiver /
COPY --from=build /out/receiver /
# One thread that promotes objects: several leave the old space in pieces, which takes 15 MB more and now and then makes V8 collect the whole heap again and again for seconds.
# Not `--optimize-for-size`, which makes code slower and hardly saves memory; not `--single-threaded-gc`, which lets the buffers of a flood of requests pile up (139 MB).
ENTRYPOINT ["node", "--no-parallel-scavenge", "--max-semi-space-size=4", "--max-old-space-size-percentage=50", "/app/receiver.mjs"]

FROM base AS controller
COPY --from=system /roots/controller /
COPY --from=build /out/controller /
ENTRYPOINT ["node", "--max-semi-space-size=1", "--optimize-for-size", "--max-old-space-size-percentage=50", "/app/controller.mjs"]

# All of git, for fetches by every transport; it runs as any user, and people look into a gateway's pod with its shell.
FROM ${NODE_IMAGE} AS agent
# gpg checks OpenPGP signatures; nss-wrapper gives ssh a name for a user that no passwd file knows; tini (30 KB) reaps what git leaves. npm and yarn are not for it, nor is the program by which git gets packs from wherever a host says.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git gpg libnss-wrapper openssh-client tini \
 && rm /usr/lib/git-core/git-http-fetch \
 && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /opt/yarn-* /usr/local/bin/yarn /usr/local/bin/yarnpkg
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
USER 65532:65532
COPY --from=build /out/agent /
# A git that is killed leaves helpers to process 1, and Node waits for its own children only: each would stay a zombie, until the limit of processes. With -s tini also works where another process is the first, as in pods that share one namespace.
ENTRYPOINT ["tini", "-s", "--", "node", "--max-semi-space-size=2", "--max-old-space-size-percentage=50", "/app/agent.mjs"]
