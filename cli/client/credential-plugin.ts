import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as v from 'valibot';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import { CodedError } from '../../shared/errors.ts';
import type { Environment } from '../../shared/io/http/no-proxy.ts';
import type { Exec } from './kubeconfig-entry.ts';

/** Credential of a plugin. */
export interface PluginCredential {
  token: string;
  certificate: string;
  key: string;
  /** Milliseconds since the epoch. If omitted, it does not expire. */
  expires: number | undefined;
}

/** Surroundings of a plugin. */
export interface PluginHost {
  environment?: Environment | undefined;
  /** A terminal on stdin and stderr. */
  hasTerminal: boolean;
  /** Shows the messages of the plugin (stderr). */
  note: (text: string) => void;
}

/** Information about the cluster, as in the kubeconfig, for plugins that ask for it. */
export type ClusterInfo = Readonly<Record<string, unknown>>;

/** A plugin that could not be run, or failed. */
export class PluginError extends CodedError {
  constructor(command: string, says: string, options?: ErrorOptions) {
    super(`the credential plugin ${command} of the kubeconfig ${says}`, 'CREDENTIAL_PLUGIN', options);
  }
}

/**
 * Runs a credential plugin as client-go does (https://kubernetes.io/docs/reference/config-api/client-authentication.v1/).
 * Throws {@link PluginError}.
 */
export async function runPlugin(exec: Exec, cluster: ClusterInfo, host: PluginHost): Promise<PluginCredential> {
  const { apiVersion, command, interactiveMode, provideClusterInfo } = exec;
  if (interactiveMode === 'Always' && !host.hasTerminal)
    throw new PluginError(command, 'needs a terminal (its interactiveMode is Always): run the command in a terminal');
  const interactive = interactiveMode !== 'Never' && host.hasTerminal;
  const spec = { ...(provideClusterInfo && { cluster }), interactive };
  const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
  const own = Object.fromEntries(exec.env.map(({ name, value }) => [name, value]));
  const child = spawn(command, exec.args, {
    env: { ...host.environment, ...own, KUBERNETES_EXEC_INFO: info },
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', interactive ? 'inherit' : 'pipe'],
  });
  return readCredential(await outputOf(child, exec, host), exec);
}

/** Returns the output of a plugin, and shows its messages while it runs. */
async function outputOf(child: ChildProcess, { command, installHint }: Exec, { note }: PluginHost): Promise<string> {
  let output = '';
  let messages = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    messages += text;
    note(text);
  });
  const [status, signal] = await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    const hint = installHint ? `: ${installHint}` : '';
    const says = error.code === 'ENOENT' ? 'is not installed' : `cannot be run (${causeOf(error)})`;
    throw new PluginError(command, `${says}${hint}`, { cause: error });
  });
  if (status === 0) return output;
  const last = messages.trim().split('\n').at(-1);
  const end = signal ? `was ended with ${signal}` : `failed with exit status ${status}`;
  throw new PluginError(command, `${end}${last ? `: ${last}` : ''}`);
}

const text = v.nullish(v.string(), '');

const answerSchema = v.object({
  apiVersion: v.string(),
  kind: v.literal('ExecCredential'),
  status: v.object({
    token: text,
    clientCertificateData: text,
    clientKeyData: text,
    expirationTimestamp: v.nullish(
      v.pipe(
        v.string(),
        v.check((time) => !Number.isNaN(Date.parse(time))),
      ),
    ),
  }),
});

function readCredential(output: string, { command, apiVersion }: Exec): PluginCredential {
  // The output contains a credential, so no message quotes it.
  const fail = (says: string) => new PluginError(command, says);
  const answer = v.safeParse(answerSchema, parseJson(output));
  if (!answer.success) throw fail(`did not print an ExecCredential (${issuePath(answer.issues[0])})`);
  const { status } = answer.output;
  if (answer.output.apiVersion !== apiVersion)
    throw fail(`printed another apiVersion than ${apiVersion}, which the kubeconfig specifies`);
  const { token, clientCertificateData: certificate, clientKeyData: key, expirationTimestamp } = status;
  if (!token && !certificate && !key) throw fail('printed neither a token nor a client certificate');
  if (!certificate !== !key) throw fail('printed a client certificate or a key without the other one');
  if (!isSendable(token)) throw fail('printed a token with control characters');
  return { token, certificate, key, expires: expirationTimestamp ? Date.parse(expirationTimestamp) : undefined };
}

const issuePath = (issue: v.BaseIssue<unknown>): string => v.getDotPath(issue) ?? 'it is not JSON';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Checks whether a header can have this value. */
export const isSendable = (value: string): boolean => !/\p{Cc}/u.test(value);
