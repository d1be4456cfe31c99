import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { ReloadRequest } from '../resource/judge-resource.ts';

/** Valid names of Secrets and their keys in Kubernetes; `.` and `..` aren't valid keys. */
const SECRET_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const SECRET_KEY = /^(?!\.{1,2}$)[-._a-zA-Z0-9]+$/;

/** Returns the headers of a request. `directory` has a file `<secret>/<key>` for each value in a Secret, read now. */
export async function readHeaders(
  { headers = [], headersFrom = [] }: Pick<ReloadRequest, 'headers' | 'headersFrom'>,
  directory: string | undefined,
): Promise<Record<string, string>> {
  const pairs = headersFrom.map(async ({ name, secretRef }) => {
    const what = `the key ${secretRef.key} of the Secret ${secretRef.name}`;
    if (!/^[A-Za-z0-9-]+$/.test(name)) throw invalid(`${JSON.stringify(name)} isn't a valid header name`);
    if (!directory || !SECRET_NAME.test(secretRef.name) || !SECRET_KEY.test(secretRef.key)) {
      throw invalid(`${what} is not mounted: recreate the pod after a change of headersFrom in spec.gateway`);
    }
    return [name, await readSecretFile(join(directory, secretRef.name, secretRef.key), what)] as const;
  });
  const plain = headers.map(({ name, value }) => [name, value] as const);
  return Object.fromEntries([...plain, ...(await Promise.all(pairs))]);
}

const invalid = (message: string) =>
  new TerminalError(message, { code: 'gateway.headers', reason: 'ReloadRequestInvalid' });

/** Reads the value of a mounted Secret without line feeds at its end; `what` describes it in messages. */
export async function readSecretFile(file: string, what: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const hint = cause.code === 'ENOENT' ? ': it did not exist when the pod was created, recreate the pod' : '';
    throw new TransientError(`${what} cannot be read (${cause.code ?? 'unknown error'})${hint}`, {
      code: 'gateway.credentials',
      reason: 'CredentialsMissing',
      cause,
    });
  });
  const value = text.replace(/[\r\n]+$/, '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  if (value.trim() !== '' && !/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(value)) return value;
  throw new TransientError(`${what} is empty or contains line feeds or other characters that are invalid in a header`, {
    code: 'gateway.credentials',
    reason: 'CredentialsMissing',
  });
}
