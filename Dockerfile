# syntax=docker/dockerfile:1

# One image for every service: `docker run waypost delivery`. It contains no Java, because Kafka runs elsewhere. The
# target `standalone` is the whole system with its own Kafka.
# Node 26, the LTS, on Debian 13; 20.19 to 26 work. This version no longer carries the compromised authorities of
# CVE-2026-111943 (docs/operations/security.md).
# pin: none yet; `node dist/tools/pins/main.js images` writes it, and a release refuses to do without
ARG NODE_IMAGE=node:26.12.1-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY . .
RUN npm run build

FROM ${NODE_IMAGE} AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The binary of LMDB is the only optional package that services need.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts && \
    npm install --no-save --omit=dev --omit=optional --ignore-scripts \
      "@lmdb/lmdb-linux-$(node -p process.arch)@$(node -p "JSON.parse(require('fs').readFileSync('node_modules/lmdb/package.json')).version")"

# What the image contains: one binary of LMDB, no empty folders, and the notices of the packages of others.
FROM build AS shipped
COPY --from=modules /app/node_modules /shipped/node_modules
RUN node dist/tools/image/main.js /shipped dist/console/licenses.md && \
    mkdir /shipped/app && mv dist /shipped/app/ && rm -rf /shipped/app/dist/tools /shipped/app/dist/test /shipped/app/dist/.tsbuildinfo && \
    mv package.json LICENSE /shipped/THIRD-PARTY-NOTICES /shipped/app/

FROM ${NODE_IMAGE} AS runtime
# dev/service-process.ts has the reason for one arena.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1
WORKDIR /app
COPY deploy/image/healthy deploy/image/waypost /usr/local/bin/
COPY --from=shipped /shipped/node_modules node_modules
COPY --from=shipped /shipped/app ./
# docker build --build-arg VERSION=1.2.3 --build-arg REVISION=$(git rev-parse HEAD) --build-arg SOURCE=https://…
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Waypost" \
      org.opencontainers.image.description="Analytics calls in over HTTP, signed webhooks out" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"

# The jars of Kafka, by the list with pinned checksums.
FROM build AS kafka
# A mirror of Maven Central: docker build --build-arg WAYPOST_MAVEN_MIRROR=https://…
# An authority of your own, for it or for a proxy that inspects: docker build --secret id=authority,src=ca.pem
ARG WAYPOST_MAVEN_MIRROR=
RUN --mount=type=secret,id=authority \
    if [ -f /run/secrets/authority ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/authority; fi; \
    node -e "const { loadSettings } = require('./dist/shared/runtime/settings.js'); \
      const failed = (error) => { console.error(error.message); process.exit(1); }; \
      process.on('uncaughtException', failed); \
      require('./dist/dev/kafka/kafka-jars.js').kafkaJars(loadSettings(process.env), console.log).catch(failed)"

# The whole system in one container, Kafka included: `docker build --target standalone -t waypost:standalone .`
# Its keys, settings and messages are in /data. It needs 2 GB of memory.
FROM runtime AS standalone
RUN mkdir -p /usr/share/man/man1 && apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends default-jre-headless tini && \
    rm -rf /var/lib/apt/lists/* && install -d -o 10001 -g 10001 /data
COPY --from=kafka /app/deploy/kafka deploy/kafka
# The user has no home: `waypost` in the container finds the system by its state in the volume.
ENV WAYPOST_DATA_DIR=/data \
    XDG_STATE_HOME=/data/state \
    WAYPOST_HOST=0.0.0.0
USER 10001:10001
EXPOSE 8080 8090
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 CMD ["healthy", "readyz"]
# tini collects the processes that a service or the broker leaves behind.
ENTRYPOINT ["tini", "--", "node", "--enable-source-maps", "dist/bin/main.js", "start", "--volume"]
# All services in one process; `docker run … --apart` runs a process for each.
CMD ["--together"]

# One service. The last stage is the default one.
FROM runtime AS service
# A container without a key refuses to start: a key that it created itself would fit no other container.
# `waypost` in the container of control asks it at its own port.
ENV WAYPOST_DATA_DIR=/var/lib/waypost \
    WAYPOST_GENERATE_SECRETS=false \
    WAYPOST_URL=http://127.0.0.1:8090
# Kubernetes verifies by number, not by name, that the user is not root. A new volume inherits the folder's owner. In the
# second folder `secrets` puts the key for delivery (docker-compose.yml).
RUN install -d -o 10001 -g 10001 /var/lib/waypost /var/lib/waypost-key
USER 10001:10001
EXPOSE 8080 8090 9401 9402 9403 9404 9405 9406
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["healthy", "livez"]
# Neither a shell nor an init process: the services handle SIGTERM themselves. Only control starts a child process, once,
# to create its database, and waits for its end.
# The garbage collector has the flags of `npm start` (dev/service-process.ts gives the reasons).
ENTRYPOINT ["node", "--enable-source-maps", "--max-semi-space-size=16", "--initial-old-space-size=64", "--no-allocation-site-pretenuring", "--single-threaded-gc", "dist/bin/main.js", "service"]
