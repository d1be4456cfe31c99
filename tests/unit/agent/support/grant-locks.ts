import childProcess from 'node:child_process';
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Makes flock(1) succeed without starting it, for tests that start thousands of agents in sequence on separate
 * volumes: they would spend most of their time on it. Returns the function that ends this.
 */
export function grantLocks(): () => void {
  const { spawn } = childProcess;
  childProcess.spawn = ((command: string, ...rest: [string[], object]) => {
    if (command !== 'flock') return spawn(command, ...rest);
    const child = new EventEmitter();
    setImmediate(() => child.emit('close', 0, null));
    return child;
  }) as typeof spawn;
  syncBuiltinESMExports();
  return () => {
    childProcess.spawn = spawn;
    syncBuiltinESMExports();
  };
}
