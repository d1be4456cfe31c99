/** Limits of a server that Node enforces; https://nodejs.org/api/http.html#class-httpserver. */
export interface ServerLimits {
  /** Maximum number of connections. Further ones are closed at once. */
  maxConnections: number;
  /** Maximum time for the handshake, and for the headers of a request (ms). */
  headersTimeout: number;
  /** Maximum time for a request with its body (ms), at least as long. */
  requestTimeout: number;
  /** Time until an idle connection is closed (ms), because it takes the place of another one. */
  keepAliveTimeout: number;
}

/** Time between two checks for connections that exceed a limit (ms); Node's default is 30 s. */
const CHECK_MS = 1_000;

/** Returns the limits as options of a server, except for `maxConnections`, which is a property. */
export const limitOptions = ({ maxConnections: _, ...times }: ServerLimits) => ({
  ...times,
  handshakeTimeout: times.headersTimeout,
  connectionsCheckingInterval: CHECK_MS,
});
