import * as v from 'valibot';
import { AGENT_DIRECTORY } from '../shared/api/names.ts';
import { flag, networks, port } from '../shared/config.ts';
import { hasAgentName, relativePath } from '../shared/domain/files/relative-path.ts';
import { DENIED_NETWORKS } from '../shared/io/local-address.ts';
import { LOG_LEVELS } from '../shared/log.ts';

const path = v.pipe(v.string(), v.startsWith('/', 'must be an absolute path'));

/** A relative path below a root, but not the root itself. */
const pathBelow = (message: string) =>
  v.pipe(
    v.string(message),
    v.transform((text) => relativePath(text)),
    v.check((path) => path.kind === 'path' && path.path !== '', message),
    v.transform((path) => (path.kind === 'path' ? path.path : '')),
  );

const MOUNTS = 'must be a list of relative paths in JSON';
const DIRECTORY = 'must be the relative path of a directory';
/** A directory of this name can belong to other data. */
const RESERVED = `must not contain the name ${AGENT_DIRECTORY}`;

/** The agent's environment, which the injector sets. A path that isn't set means that there is no such file. */
export const agentConfigSchema = v.object({
  /** The pod that the agent runs in, from the downward API. */
  POD_NAME: v.string(),
  POD_NAMESPACE: v.string(),
  POD_UID: v.string(),
  /** The node that the pod runs on, for messages that name the agent with the data volume. */
  NODE_NAME: v.optional(v.string()),
  /** The pod's labels as a downward API volume writes them. */
  POD_LABELS_FILE: v.optional(path),
  /** The GatewaySync to follow, in the pod's namespace. */
  CR_NAME: v.string(),
  PROFILE: v.optional(v.string(), 'default'),
  /** If omitted, the label `app.kubernetes.io/name`, then the pod's name. */
  GATEWAY_NAME: v.optional(v.string()),
  /** Directory of the bare repository; the agent may empty it. */
  REPO_PATH: v.optional(path, '/repo'),
  /** Directory in memory for copies of credentials. If omitted, they are in the temporary directory during a fetch. */
  MEMORY_PATH: v.optional(path),
  /** Root of the gateway's data volume. */
  DATA_PATH: path,
  /** Directory in it that the gateway mounts. If omitted, the gateway mounts the same as the agent. */
  DATA_DIRECTORY: v.optional(pathBelow(DIRECTORY)),
  /** Directory below `DATA_PATH` for the agent's own files. If omitted, `.sync-agent` in the gateway's directory. */
  STATE_DIRECTORY: v.optional(
    v.pipe(
      pathBelow(DIRECTORY),
      v.check((path) => !hasAgentName(path), RESERVED),
    ),
  ),
  /** Paths in the data volume at which the gateway's pod mounts other volumes. */
  DATA_MOUNTS: v.optional(v.pipe(v.string(), v.parseJson(undefined, MOUNTS), v.array(pathBelow(MOUNTS), MOUNTS)), '[]'),
  GATEWAY_PORT: port(8088),
  GATEWAY_TLS: flag(false),
  API_KEY_FILE: v.optional(path),
  /** Whether the containers of the pod share a process namespace. */
  SHARE_PROCESS_NAMESPACE: flag(false),
  /** Directory with a file `<secret>/<key>` for each header of `spec.gateway.reload.requests`. */
  RELOAD_HEADERS_DIR: v.optional(path),
  /** Credentials for the git server, read at each fetch because Secrets rotate. */
  GIT_TOKEN_FILE: v.optional(path),
  GIT_SSH_KEY_FILE: v.optional(path),
  GIT_KNOWN_HOSTS_FILE: v.optional(path),
  GIT_CA_FILE: v.optional(path),
  /** CAs of the installation, in addition to the system's, unless `GIT_CA_FILE` is set. The file can be missing. */
  GIT_EXTRA_CA_FILE: v.optional(path),
  /** Networks that git servers must not be in, and whether local ones are allowed nevertheless. */
  GIT_DENIED_NETWORKS: networks(DENIED_NETWORKS),
  GIT_ALLOW_LOCAL: flag(false),
  /** Directory with the public keys that commits or tags must be signed with, one file per key. */
  GIT_VERIFY_KEYS_DIR: v.optional(path),
  HEALTH_PORT: port(8082),
  METRICS_PORT: port(8083),
  LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
});

export type AgentConfig = v.InferOutput<typeof agentConfigSchema>;
