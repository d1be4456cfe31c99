import { runCommand } from './run-command.ts';

/** Returns the environment for a git without its user's settings: no configuration, no prompt, a fixed identity. */
export function gitEnvironment(): NodeJS.ProcessEnv {
  // GIT_DIR from a hook that runs the tests would send every command to the wrong repository.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  return {
    ...Object.fromEntries(inherited),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Test Bed',
    GIT_AUTHOR_EMAIL: 'testbed@example.test',
    GIT_COMMITTER_NAME: 'Test Bed',
    GIT_COMMITTER_EMAIL: 'testbed@example.test',
  };
}

/** Runs git in a directory and returns its stdout without the last line end; throws `CommandError`. */
export async function git(cwd: string, args: string[], input?: string | Buffer): Promise<string> {
  const options = { cwd, env: gitEnvironment(), ...(input !== undefined && { input }) };
  return (await runCommand('git', args, options)).trimEnd();
}
