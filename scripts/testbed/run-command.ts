import { type SpawnOptions, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Options of a command: its directory, its whole environment (default: ours), and bytes for stdin. */
export interface CommandOptions extends Pick<SpawnOptions, 'cwd' | 'env'> {
  input?: string | Buffer;
}

/** A command that couldn't be started, or exited with a status other than 0. */
class CommandError extends Error {
  readonly status: number | null;
  readonly stderr: string;

  constructor(command: string, { status, stderr }: { status: number | null; stderr: string }) {
    super(`${command}: status ${status}\n${stderr.trimEnd().split('\n').slice(-20).join('\n')}`);
    this.name = 'CommandError';
    this.status = status;
    this.stderr = stderr;
  }
}

/** Runs a command to its end and returns its stdout; throws `CommandError` with the end of its stderr. */
export async function runCommand(command: string, args: string[], options: CommandOptions = {}): Promise<string> {
  const { input, ...spawnOptions } = options;
  const child = spawn(command, args, { ...spawnOptions, stdio: 'pipe' });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // A command that doesn't read its stdin may close it early; its status shows if it failed.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (status !== 0) throw new CommandError([command, ...args].join(' '), { status, stderr });
  return stdout;
}

/** Runs a command, and returns whether it could be started and exited with status 0. */
export const succeeds = (...command: Parameters<typeof runCommand>): Promise<boolean> =>
  runCommand(...command).then(
    () => true,
    () => false,
  );
