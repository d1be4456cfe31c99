import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { readConfig, readOrExit } from '../shared/config.ts';
import { ApiCredentials } from '../shared/io/kubernetes/credentials.ts';
import { createLogger, endOnUncaught } from '../shared/log.ts';
import { configSchema } from './config.ts';
import { freshDirectory } from './own-directories.ts';
import { runController } from './run-controller.ts';

/** Time for admission to drain after the lease was lost (ms); the process is ended then, even if it hangs. */
const LOST_LEASE_EXIT_MS = 15_000;

const config = readOrExit(() => readConfig(configSchema, process.env), process);
const log = createLogger('controller', { level: config.LOG_LEVEL, devMode: config.LOG_DEV_MODE });
endOnUncaught(process, log);
const scratch = freshDirectory(tmpdir(), config.POD_NAME);
const keys = freshDirectory(config.MEMORY_PATH ?? tmpdir(), `${config.POD_NAME}-keys`);
process.on('exit', () => {
  for (const directory of [scratch, keys]) rmSync(directory, { recursive: true, force: true });
});
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    log.info({ signal }, 'stopping');
    stopping.abort();
    process.once(signal, () => process.exit(1));
  });
}

const ending = await runController(config, {
  signal: stopping.signal,
  log,
  environment: process.env,
  credentials: ApiCredentials.load(),
  scratch,
  keys,
  onLeaseLost: () => setTimeout(restart, LOST_LEASE_EXIT_MS).unref(),
});
if (ending === 'leaseLost') restart();
if (ending === 'failed') process.exit(1);
log.info('controller stopped');

/** Ends the process at once, even if a query to a git server is still in progress. */
function restart(): never {
  log.error('the lease was lost: starting over');
  process.exit(1);
}
