import { readFile } from 'node:fs/promises';
import { TransientError } from '../../shared/errors.ts';

/** Reads a mounted Secret's value without the line feed that it may end in; `what` names it for people. */
export async function readSecretFile(file: string, what: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const hint = cause.code === 'ENOENT' ? ': it was not there when the pod was created, restart the pod' : '';
    throw new TransientError(`${what} cannot be read (${cause.code ?? 'unknown error'})${hint}`, {
      code: 'gateway.credentials',
      reason: 'CredentialsMissing',
      cause,
    });
  });
  const value = text.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  if (value !== '' && !/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(value)) return value;
  throw new TransientError(`${what} is empty or holds line feeds: a header cannot carry it`, {
    code: 'gateway.credentials',
    reason: 'CredentialsMissing',
  });
}
