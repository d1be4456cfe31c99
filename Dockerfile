# syntax=docker/dockerfile:1
# The three images: docker build --target controller|receiver|agent .
# The ENTRYPOINT lines are the one place for the flags of Node; scripts/images/assemble-root.ts prints them for other builders.

FROM --platform=$BUILDPLATFORM node:26.10.0-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build \
 && for program in controller receiver agent; do node scripts/images/assemble-root.ts $program /out/$program; done

FROM node:26.10.0-trixie-slim AS base
# One arena of the C library instead of one a thread: 10 to 20 MB less.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
USER 65532:65532

FROM base AS with-git
USER root
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
 && rm -rf /var/lib/apt/lists/*
USER 65532:65532

FROM base AS receiver
COPY --from=build /out/receiver /
ENTRYPOINT ["node", "--max-semi-space-size=1", "--optimize-for-size", "--max-old-space-size=64", "/app/receiver.mjs"]

FROM with-git AS controller
COPY --from=build /out/controller /
ENTRYPOINT ["node", "--max-semi-space-size=1", "--optimize-for-size", "--max-old-space-size=64", "/app/controller.mjs"]

FROM with-git AS agent
USER root
# gpg checks OpenPGP signatures; nss-wrapper gives ssh a name for a user that no passwd file knows.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gpg libnss-wrapper \
 && rm -rf /var/lib/apt/lists/*
USER 65532:65532
COPY --from=build /out/agent /
ENTRYPOINT ["node", "--max-semi-space-size=1", "--optimize-for-size", "--max-old-space-size=64", "/app/agent.mjs"]
