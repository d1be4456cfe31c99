import { createHash } from 'node:crypto';
import { MAPPING_DEFAULTS } from '../../api/sync.ts';
import { isObject, omit } from '../text/objects.ts';

/**
 * The revision of `spec.sync`, or of other JSON: 32 hex digits of the SHA-256 of its JSON with sorted keys. `paused` and
 * `dryRun` of the defaults and profiles are omitted, because they apply to all gateways at once. A mapping has the same
 * revision with and without the values of fields that it can omit.
 * Recursive: callers limit how deep JSON is that isn't from a CRD's schema.
 */
export const syncRevision = (sync: unknown): string =>
  createHash('sha256')
    .update(canonicalJson(withoutSwitches(sync)))
    .digest('hex')
    .slice(0, 32);

/** Checks whether a text has the form of a revision. */
export const isRevision = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

function withoutSwitches(sync: unknown): unknown {
  if (!isObject(sync)) return sync;
  const { defaults, profiles, ...rest } = sync;
  return { ...rest, defaults: settingsOf(defaults), profiles: isObject(profiles) ? allSettingsOf(profiles) : profiles };
}

const allSettingsOf = (profiles: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(profiles).map(([name, profile]) => [name, settingsOf(profile)]));

function settingsOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { mappings, ...settings } = omit(value, 'paused', 'dryRun');
  return { ...settings, mappings: Array.isArray(mappings) ? mappings.map(completeMapping) : mappings };
}

/** Writes out the values of omitted fields, so that no rollout begins when a user writes or removes them. */
const completeMapping = (mapping: unknown): unknown =>
  isObject(mapping)
    ? { ...MAPPING_DEFAULTS, ...mapping, publish: mapping.publish === 'files' ? undefined : mapping.publish }
    : mapping;

/** JSON with sorted keys; undefined is omitted in objects, and null in lists. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join()}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys.sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)}}`;
}
