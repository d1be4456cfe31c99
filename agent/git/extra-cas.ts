import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { TransientError } from '../../shared/errors.ts';
import { onVolume, TEMPORARY_VOLUME } from '../disk/volume-error.ts';

/** The CAs that git trusts by default in the agent's image; https://manpages.debian.org/update-ca-certificates.8. */
const SYSTEM_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const BUNDLE = 'sync-agent-ca.pem';

/**
 * Passes a file with the system's CAs and those of another file (PEM): a bundle replaces git's CAs instead of adding to
 * them. Undefined if the other file is missing or empty because the ConfigMap doesn't exist yet.
 */
export async function withExtraCas<T>(
  { file, directory }: { file: string; directory: string },
  run: (bundle: string | undefined) => Promise<T>,
): Promise<T> {
  const extra = await readFile(file, 'utf8').catch(explainMissing);
  if (extra.trim() === '') return await run(undefined);
  const system = await readFile(SYSTEM_BUNDLE, 'utf8').catch(() => getCACertificates('default').join('\n'));
  const bundle = join(directory, BUNDLE);
  try {
    await onVolume(TEMPORARY_VOLUME, async () => {
      await rm(bundle, { force: true });
      await writeFile(bundle, `${system}\n${extra}\n`, { flag: 'wx' });
    });
    return await run(bundle);
  } finally {
    await rm(bundle, { force: true });
  }
}

function explainMissing(cause: NodeJS.ErrnoException): string {
  if (cause.code === 'ENOENT') return '';
  throw new TransientError(`the CAs of the installation cannot be read: ${cause.code ?? 'unknown error'}`, {
    code: 'git.extraCas',
    reason: 'CredentialsMissing',
    cause,
  });
}
