import { isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { type ExitStatus, Problem } from '../client/problem.ts';
import type { Host } from '../terminal/host.ts';

/** A command line with its purpose. */
export interface Example {
  /** Arguments of `kubectl stoker`. */
  line: string;
  does: string;
}

/** An option or argument of a command. */
export interface Arg {
  type: 'string' | 'boolean' | 'positional';
  /** Letter of the short form. */
  alias?: string;
  required?: boolean;
  default?: string | boolean;
  /** All values of a repeated option count, not only the last one. */
  isRepeatable?: boolean;
  valueHint?: string;
  description: string;
}

export type ArgsDef = Readonly<Record<string, Arg>>;

type ValueOf<T> = T extends { type: 'boolean' } ? boolean : T extends { isRepeatable: true } ? string[] : string;

/** Values by the names of options and arguments. */
export type ParsedArgs<T extends ArgsDef = ArgsDef> = {
  [Key in keyof T]: T[Key] extends { required: true } | { default: unknown }
    ? ValueOf<T[Key]>
    : ValueOf<T[Key]> | undefined;
};

/** Input of a command. */
interface Invocation<TArgs extends ArgsDef> {
  args: ParsedArgs<TArgs>;
  host: Host;
}

/** A command of `kubectl stoker` with its help texts. */
export interface Command<TArgs extends ArgsDef = ArgsDef> {
  name: string;
  /** Short description in the list of commands. */
  summary: string;
  /** Paragraphs of its help. */
  details: readonly string[];
  examples: readonly Example[];
  args: TArgs;
  // A method, so that a command with certain arguments is a command.
  run(invocation: Invocation<TArgs>): Promise<ExitStatus>;
}

/** Defines a command. Add it to `commands.ts`. */
export const makeCommand = <const TArgs extends ArgsDef>(command: Command<TArgs>): Command => command;

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
  cluster: {
    type: 'string',
    valueHint: 'NAME',
    description: 'Cluster of the kubeconfig. Default: the cluster of the context.',
  },
  user: { type: 'string', valueHint: 'NAME', description: 'User of the kubeconfig. Default: the user of the context.' },
  as: { type: 'string', valueHint: 'USER', description: 'User to impersonate.' },
  'as-group': {
    type: 'string',
    isRepeatable: true,
    valueHint: 'GROUP',
    description: 'Group to impersonate. Repeat it for several.',
  },
  'as-uid': { type: 'string', valueHint: 'UID', description: 'UID to impersonate.' },
  token: {
    type: 'string',
    valueHint: 'TOKEN',
    description: 'Bearer token. Other users of this machine can see it in the list of processes.',
  },
  'request-timeout': {
    type: 'string',
    valueHint: 'TIME',
    description: 'Timeout of each request, such as 30s; 0 for none. Default: 15s, and 30s without data of a list.',
  },
} as const satisfies ArgsDef;

/** Options of commands that print results. */
export const outputArgs = {
  output: { type: 'string', alias: 'o', valueHint: 'json|yaml', description: 'Print JSON or YAML instead of text.' },
} as const satisfies ArgsDef;

/** Returns the requested format; undefined means text. Throws `Problem`. */
export function formatOf({ output }: { output?: string | undefined }): 'json' | 'yaml' | undefined {
  if (output === undefined || output === 'json' || output === 'yaml') return output;
  throw new Problem(`--output must be json or yaml, not ${output}`, 'InvalidArguments');
}

/** Returns the maximum time to wait (ms). Throws `Problem`. */
export function parseTimeout({ timeout }: { timeout: string }): number {
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs !== undefined) return timeoutMs;
  throw new Problem('--timeout must be a duration such as 90s, 5m, or 1h30m', 'InvalidArguments');
}

/** Throws `Problem` if the namespaces to read are contradictory. */
export function checkScope(args: {
  'all-namespaces'?: boolean | undefined;
  name?: string | undefined;
  namespace?: string | undefined;
}): void {
  if (!args['all-namespaces']) return;
  if (args.name)
    throw new Problem('--all-namespaces cannot be combined with a name: remove one of them', 'InvalidArguments');
  if (args.namespace)
    throw new Problem(
      '--namespace and --all-namespaces are mutually exclusive: remove one of them',
      'InvalidArguments',
    );
}

/** Throws `Problem` if the ref isn't valid. */
export function checkRef({ ref }: { ref?: string | undefined }): void {
  if (ref !== undefined && !isValidRefName(ref))
    throw new Problem('--ref must be the name of a tag or branch, or a full commit hash', 'InvalidArguments');
}
