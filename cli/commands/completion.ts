import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { makeCommand } from '../command-support/command.ts';

/** Name of the file that kubectl runs from the PATH to complete a plugin's arguments. */
const HELPER = 'kubectl_complete-stoker';

/** Scripts by shell: each adds a directory to the PATH unless the file is on it, and loads kubectl's completion. */
const SCRIPTS: Record<string, (directory: string) => string> = {
  bash: (directory) => `command -v ${HELPER} > /dev/null || export PATH="$PATH":${quote(directory)}
declare -F __start_kubectl > /dev/null || eval "$(kubectl completion bash)"
`,
  zsh: (directory) => `command -v ${HELPER} > /dev/null || export PATH="$PATH":${quote(directory)}
(( $+functions[_kubectl] )) || eval "$(kubectl completion zsh)"
`,
  fish: (directory) => `command -q ${HELPER}; or set -gx PATH $PATH ${quoteForFish(directory)}
kubectl completion fish | source
`,
};

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const quoteForFish = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;

/** `kubectl stoker completion`: prints the completion script of a shell. */
export const completion = makeCommand({
  name: 'completion',
  summary: 'Print the completion script for bash, zsh, or fish',
  details: [
    `Load the script when your shell starts, as the examples show. It loads kubectl's completion and, if needed, puts the directory of ${HELPER} on the PATH. kubectl runs that file to complete commands, options, and names of objects in the cluster.`,
  ],
  examples: [
    { line: 'completion bash', does: 'In ~/.bashrc: source <(kubectl stoker completion bash)' },
    { line: 'completion zsh', does: 'In ~/.zshrc, after compinit: source <(kubectl stoker completion zsh)' },
    { line: 'completion fish', does: 'In ~/.config/fish/config.fish: kubectl stoker completion fish | source' },
  ],
  args: {
    shell: { type: 'positional', required: true, valueHint: 'bash|zsh|fish', description: 'bash, zsh, or fish.' },
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const script = SCRIPTS[args.shell];
    if (!script) throw new Problem(`no completion for ${args.shell}: specify bash, zsh, or fish`, 'InvalidArguments');
    host.print(script(directoryOfHelper(host.program ?? '')));
    return EXIT.ok;
  },
});

/**
 * Returns the directory of the helper: next to the program in archives, below it in the npm package. Throws `Problem`.
 */
function directoryOfHelper(program: string): string {
  const own = path.dirname(existsSync(program) ? realpathSync(program) : program);
  const directory = [path.join(own, 'completion'), own].find((each) => existsSync(path.join(each, HELPER)));
  if (directory === undefined)
    throw new Problem(`${HELPER} not found in ${own}: copy it there from the archive of the release`, 'FileUnusable');
  return directory;
}
