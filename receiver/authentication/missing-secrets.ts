import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { linesOf, ownName, type SecretSource, type SecretSources } from './secrets.ts';

/** Names of files that are told; a Secret with more keys is hardly meant for this. */
const MAX_NAMES = 10;

/** What is configured and holds no secret, a sentence each, with what is there instead. */
export async function missingSecrets({ hmac, bearer }: SecretSources): Promise<string[]> {
  const problems = await Promise.all([problemOf('HMAC secret', hmac), problemOf('bearer token', bearer)]);
  return problems.filter((problem) => problem !== undefined);
}

async function problemOf(what: string, source: SecretSource | undefined): Promise<string | undefined> {
  if (!source) return undefined;
  if ('value' in source) return linesOf(source.value).length > 0 ? undefined : `the ${what} is configured and empty`;
  const { file } = source;
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text !== undefined && linesOf(text).length > 0) return undefined;
  // The links by which Kubernetes swaps a mounted Secret begin with a dot.
  const names = (await readdir(dirname(file)).catch((): string[] => [])).filter((name) => !name.startsWith('.'));
  const others = names.filter((name) => name !== basename(file));
  // Where each resource has its own secret, none is needed for all.
  if (others.some((name) => ownName.test(name))) return undefined;
  if (text !== undefined) return `the ${what} in ${file} is empty: give the key of the Secret a value`;
  const keys = others.length > 0 ? `has the keys ${others.slice(0, MAX_NAMES).sort().join(', ')}` : 'has no keys';
  return `no ${what} can be read from ${file}: the Secret ${keys}; name the right one, or add ${basename(file)}`;
}
