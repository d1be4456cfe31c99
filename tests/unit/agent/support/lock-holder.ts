import process from 'node:process';
import { lockOf } from './lock-agents.ts';

/** Holds the lock of the volume in the first argument, as the agent of the pod in the second, until it is killed. */
const [data = '', podName = ''] = process.argv.slice(2);
const lock = await lockOf(data, podName);
await lock.hold();
process.stdout.write('held\n');
setInterval(() => {}, 60_000);
