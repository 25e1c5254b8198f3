/**
 * The phases of a request in their order. `token`: the request for an OAuth2 token; `proxy`: the
 * connection through an egress proxy
 */
export const PHASES = ['token', 'proxy', 'dns', 'connect', 'tls', 'headers', 'body'] as const;
export type Phase = (typeof PHASES)[number];
