import { messageOf } from '../../shared/domain/text/message-of.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { listObjects } from '../../shared/io/kubernetes/list.ts';
import { CERTIFICATE_KEY } from '../checks/certificates.ts';
import type { Hidden, ReadResult } from '../checks/finding.ts';
import type { SecretKeys } from '../checks/objects.ts';
import type { Access } from '../client/connect.ts';
import { PluginError } from '../client/credential-plugin.ts';
import { wordsOf } from '../client/explain.ts';

const PAGE_SIZE = 250;

/**
 * Runs a read; the result is `hidden` if it is forbidden or fails. Throws only if no other read can succeed either: the
 * cluster rejects the credentials, or there are none.
 */
export async function tryRead<T>(reading: () => Promise<T>): Promise<ReadResult<T>> {
  try {
    return { kind: 'seen', value: await reading() };
  } catch (error) {
    if (isApiError(error, 401) || error instanceof PluginError) throw error;
    return hiddenBy(error);
  }
}

/** Describes a read that failed. */
export function hiddenBy(error: unknown): Hidden {
  if (isApiError(error, 403)) return { kind: 'hidden', why: 'forbidden' };
  return { kind: 'hidden', why: isApiError(error) ? messageOf(error) : wordsOf(error), cause: error };
}

/** Reads one object; undefined if it doesn't exist. */
export const readObject = <T>({ client }: Access, path: string): Promise<ReadResult<T | undefined>> =>
  tryRead(() => unlessStatus(404, client.getAs<T>(path)));

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
    await unlessStatus(404, listObjects<T>(client, path, { pageSize: PAGE_SIZE, query }, add));
    return objects;
  });

/** Reads the keys of a Secret and the length of their values. Drops the values at once. */
export const readSecretKeys = (access: Access, path: string): Promise<ReadResult<SecretKeys | undefined>> =>
  readSecret(access, path, (data) =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, value.length])),
  );

/** Reads the certificate in a Secret (PEM, empty without one). Drops its key at once. */
export const readCertificate = (access: Access, path: string): Promise<ReadResult<string | undefined>> =>
  readSecret(access, path, (data) => Buffer.from(data[CERTIFICATE_KEY] ?? '', 'base64').toString());

const readSecret = <T>({ client }: Access, path: string, pick: (data: Record<string, string>) => T) =>
  tryRead(async () => {
    const secret = await unlessStatus(404, client.getAs<{ data?: Record<string, string> }>(path));
    return secret && pick(secret.data ?? {});
  });
