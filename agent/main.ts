import { userInfo } from 'node:os';
import process from 'node:process';
import { readConfig, readOrExit } from '../shared/config.ts';
import { ApiCredentials } from '../shared/io/kubernetes/credentials.ts';
import { createLogger, endOnUncaught } from '../shared/log.ts';
import { agentConfigSchema } from './config.ts';
import type { User } from './git/name-user.ts';
import { runAgent } from './run-agent.ts';

const config = readOrExit(() => readConfig(agentConfigSchema, process.env), process);
const log = createLogger('agent', { level: config.LOG_LEVEL });
endOnUncaught(process, log);
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    log.info({ signal }, 'stopping');
    stopping.abort();
  });
}
const environment = process.env;
const credentials = ApiCredentials.load();
await runAgent(config, { signal: stopping.signal, log, environment, credentials, user: currentUser() });
process.exit(0);

function currentUser(): User {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  try {
    userInfo();
    return { uid, gid, hasName: true };
  } catch {
    return { uid, gid, hasName: false }; // Node throws different errors on different platforms
  }
}
