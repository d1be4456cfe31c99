import { readOrExit } from '../shared/config.ts';
import { ApiCredentials } from '../shared/io/kubernetes/credentials.ts';
import { createLogger, endOnUncaught } from '../shared/log.ts';
import { readReceiverConfig } from './config.ts';
import { runReceiver } from './run-receiver.ts';

const config = readOrExit(() => readReceiverConfig(process.env), process);
const log = createLogger('receiver', { level: config.LOG_LEVEL, devMode: config.LOG_DEV_MODE });
endOnUncaught(process, log);
// Handled from the beginning, so that a signal during startup also causes a graceful shutdown.
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => (stopping.signal.aborted ? process.exit(1) : stopping.abort()));
}
try {
  await runReceiver(config, { signal: stopping.signal, log, credentials: ApiCredentials.load() });
} catch (error) {
  log.fatal({ err: error }, 'receiver not started');
  process.exit(1);
}
process.exit(0);
