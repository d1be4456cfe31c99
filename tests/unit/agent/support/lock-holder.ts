import process from 'node:process';
import { lockOf } from './lock-agents.ts';

/** Holds the volume lock in the directory given first, as the agent of the pod given second, until it is killed. */
const [data = '', podName = ''] = process.argv.slice(2);
const lock = await lockOf(data, podName);
await lock.hold();
process.stdout.write('held\n');
setInterval(() => {}, 60_000);
