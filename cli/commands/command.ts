import { type ArgsDef, type CommandDef, defineCommand, type ParsedArgs } from 'citty';
import { parseDuration } from '../../shared/domain/duration.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import type { Host } from '../terminal/host.ts';

/** A command line with its purpose. */
export interface Example {
  /** Arguments of `kubectl stoker`. */
  line: string;
  does: string;
}

/** A command of `kubectl stoker` with its help texts. */
export interface Command {
  name: string;
  /** Short description in the list of commands. */
  summary: string;
  /** Paragraphs of its help. */
  details: readonly string[];
  examples: readonly Example[];
  args: ArgsDef;
  definition: CommandDef;
}

/** Input of a command; citty passes the host as `data`. */
interface Invocation<TArgs extends ArgsDef> {
  args: ParsedArgs<TArgs>;
  /** The words of the command line after the command. */
  words: readonly string[];
  host: Host;
}

interface CommandText<TArgs extends ArgsDef> extends Omit<Command, 'args' | 'definition'> {
  args: TArgs;
  run: (invocation: Invocation<TArgs>) => Promise<ExitStatus>;
}

/** Defines a command. Add it to `commands.ts`. */
export function makeCommand<const TArgs extends ArgsDef>({ args, run, ...text }: CommandText<TArgs>): Command {
  const definition = defineCommand({
    meta: { name: text.name, description: text.summary },
    args,
    run: (context) => run({ args: context.args, words: context.rawArgs, host: context.data as Host }),
  });
  return { ...text, args, definition: definition as unknown as CommandDef };
}

/** Options of all commands that access a cluster, as in kubectl. */
export const accessArgs = {
  namespace: {
    type: 'string',
    alias: 'n',
    valueHint: 'NAME',
    description: 'Namespace. Default: the namespace of the context.',
  },
  context: {
    type: 'string',
    valueHint: 'NAME',
    description: 'Context of the kubeconfig. Default: the current context.',
  },
  kubeconfig: {
    type: 'string',
    valueHint: 'FILE',
    description: 'Path of the kubeconfig. Default: $KUBECONFIG, then ~/.kube/config.',
  },
} as const satisfies ArgsDef;

/** Options of commands that print results. */
export const outputArgs = {
  output: { type: 'string', alias: 'o', valueHint: 'json|yaml', description: 'Print JSON or YAML instead of text.' },
} as const satisfies ArgsDef;

/** Returns the requested format; undefined means text. Throws `Problem`. */
export function formatOf({ output }: { output?: string | undefined }): 'json' | 'yaml' | undefined {
  if (output === undefined || output === 'json' || output === 'yaml') return output;
  throw new Problem(`--output must be json or yaml, not ${output}`, EXIT.usage);
}

/** Returns the maximum time to wait (ms). Throws `Problem`. */
export function timeoutOf({ timeout }: { timeout: string }): number {
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs !== undefined) return timeoutMs;
  throw new Problem('--timeout must be a duration such as 90s, 5m, or 1h30m', EXIT.usage);
}
