import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../shared/domain/text/objects.ts';

/**
 * Lists the fields of a manifest that the API server stores in another way, by their path. A stored object can have more
 * fields. In custom resources, only the fields outside of lists can: server-side apply owns each list as a whole.
 */
export function differences(written: unknown, stored: unknown, { isCustom = false, where = '' } = {}): string[] {
  const below = (key: string | number, value: unknown, other: unknown) =>
    differences(value, other, { isCustom, where: `${where}.${key}` });
  if (isObject(written) && isObject(stored))
    return Object.entries(written).flatMap(([key, value]) => below(key, value, stored[key]));
  const isList = Array.isArray(written) && Array.isArray(stored) && written.length === stored.length;
  if (isList && !isCustom) return written.flatMap((item, index) => below(index, item, stored[index]));
  return isDeepStrictEqual(written, stored)
    ? []
    : [`${where}: ${JSON.stringify(written)} is stored as ${JSON.stringify(stored)}`];
}
