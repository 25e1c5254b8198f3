# syntax=docker/dockerfile:1

# One image for every service: `docker run waypost delivery`. It contains no Java, because Kafka runs elsewhere.
# Tests and benchmarks ran on this version of Node; 20.18 to 24 work.
ARG NODE_IMAGE=node:20.20.2-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY . .
RUN npm run build && rm -rf dist/tools dist/.tsbuildinfo

FROM ${NODE_IMAGE} AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The binary of LMDB is the only optional package that services need; the others serve the embedded Kafka of `npm start`.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts && \
    npm install --no-save --omit=dev --omit=optional --ignore-scripts \
      "@lmdb/lmdb-linux-$(node -p process.arch)@$(node -p "JSON.parse(require('fs').readFileSync('node_modules/lmdb/package.json')).version")"

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Waypost" \
      org.opencontainers.image.description="Analytics calls in over HTTP, signed webhooks out" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production \
    WAYPOST_DATA_DIR=/var/lib/waypost
WORKDIR /app
# Kubernetes verifies by number, not by name, that the user is not root. A new volume inherits the folder's owner.
RUN install -d -o 10001 -g 10001 /var/lib/waypost
COPY --from=modules /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
USER 10001:10001
EXPOSE 8080 8090 9401 9402 9403 9404 9405 9406
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "dist/deploy/bin/main.js", "health", "livez"]
# Neither a shell nor an init process: the services handle SIGTERM themselves and start no child processes.
# The garbage collector has the flags of `npm start` (deploy/standalone/service-process.ts gives the reasons).
ENTRYPOINT ["node", "--enable-source-maps", "--max-semi-space-size=16", "--initial-old-space-size=256", "--no-allocation-site-pretenuring", "--single-threaded-gc", "dist/deploy/bin/main.js", "service"]
