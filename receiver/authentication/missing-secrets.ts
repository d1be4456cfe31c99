import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { linesOf, ownName, type SecretSource, type SecretSources } from './secrets.ts';

/** Maximum number of file names in a message. */
const MAX_NAMES = 10;

/** Lists configured methods without a secret, each with the problem and its solution. */
export async function missingSecrets({ hmac, bearer }: SecretSources): Promise<string[]> {
  const problems = await Promise.all([problemOf('HMAC secret', hmac), problemOf('bearer token', bearer)]);
  return problems.filter((problem) => problem !== undefined);
}

async function problemOf(what: string, source: SecretSource | undefined): Promise<string | undefined> {
  if (!source) return undefined;
  if ('value' in source) return linesOf(source.value).length > 0 ? undefined : `the ${what} is configured but empty`;
  const { file } = source;
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text !== undefined && linesOf(text).length > 0) return undefined;
  // Names of the links that Kubernetes uses to swap a mounted Secret begin with a dot.
  const names = (await readdir(dirname(file)).catch((): string[] => [])).filter((name) => !name.startsWith('.'));
  const others = names.filter((name) => name !== basename(file));
  // If resources have their own secrets, the global one is optional.
  if (others.some((name) => ownName.test(name))) return undefined;
  if (text !== undefined) return `the ${what} in ${file} is empty; set a value for this key of the Secret`;
  const keys = others.length > 0 ? `has the keys ${others.slice(0, MAX_NAMES).sort().join(', ')}` : 'has no keys';
  return `no ${what} found in ${file}; the Secret ${keys}; specify an existing key, or add ${basename(file)}`;
}
