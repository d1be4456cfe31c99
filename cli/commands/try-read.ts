import { messageOf } from '../../shared/errors.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { listObjects } from '../../shared/io/kubernetes/list.ts';
import { CERTIFICATE_KEY } from '../checks/check-certificate.ts';
import type { ReadResult } from '../checks/finding.ts';
import type { SecretKeys } from '../checks/objects.ts';
import type { Access } from '../client/connect.ts';

const PAGE_SIZE = 250;

/**
 * Runs a read; the result is `hidden` if it is forbidden or fails. Throws if the cluster is unreachable or rejects the
 * credentials.
 */
export async function tryRead<T>(reading: () => Promise<T>): Promise<ReadResult<T>> {
  try {
    return { kind: 'seen', value: await reading() };
  } catch (error) {
    if (isApiError(error, 403)) return { kind: 'hidden', why: 'forbidden' };
    if (!isApiError(error) || isApiError(error, 401)) throw error;
    return { kind: 'hidden', why: messageOf(error) };
  }
}

/** Reads one object; undefined if it doesn't exist. */
export const readObject = <T>({ client }: Access, path: string): Promise<ReadResult<T | undefined>> =>
  tryRead(async () => {
    try {
      return await client.get<T>(path);
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  });

/** Reads a list; empty if the resource type doesn't exist. Keeps only objects that match `keep` in memory. */
export const readList = <T>(
  { client }: Access,
  path: string,
  { query = {}, keep = () => true }: { query?: Record<string, string>; keep?: (object: T) => boolean } = {},
): Promise<ReadResult<T[]>> =>
  tryRead(async () => {
    const objects: T[] = [];
    const add = (object: T) => {
      if (keep(object)) objects.push(object);
    };
    try {
      await listObjects<T>(client, path, { pageSize: PAGE_SIZE, query }, add);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
    return objects;
  });

/** Reads the keys of a Secret and the length of their values. Drops the values at once. */
export async function readSecretKeys(access: Access, path: string): Promise<ReadResult<SecretKeys | undefined>> {
  const secret = await readObject<{ data?: Record<string, string> }>(access, path);
  if (secret.kind === 'hidden') return secret;
  const { data = {} } = secret.value ?? {};
  const lengths = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, value.length]));
  return { kind: 'seen', value: secret.value && lengths };
}

/** Reads the certificate in a Secret (PEM, empty if missing). Drops its key at once. */
export async function readCertificate(access: Access, path: string): Promise<ReadResult<string>> {
  const secret = await readObject<{ data?: Record<string, string> }>(access, path);
  if (secret.kind === 'hidden') return secret;
  return { kind: 'seen', value: Buffer.from(secret.value?.data?.[CERTIFICATE_KEY] ?? '', 'base64').toString() };
}
