import type { Container } from './manifest.ts';

/** What an option of git-sync, or a variable, is set to. */
export type Setting = { by: string } & (
  | { kind: 'value'; value: string }
  /** The value is in a Secret, and nowhere in the manifest. */
  | { kind: 'secret'; name: string; key: string }
  /** Nobody can know it from the manifest. */
  | { kind: 'elsewhere'; where: string }
);

/** The variables of a container, by name. */
export function environmentOf({ env }: Container): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const { name, value, valueFrom } of env ?? []) {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    const by = `the variable ${name}`;
    const where = configMapKeyRef
      ? `key ${configMapKeyRef.key} of the ConfigMap ${configMapKeyRef.name}`
      : 'a field of the pod';
    if (secretKeyRef?.name) settings.set(name, { by, kind: 'secret', name: secretKeyRef.name, key: secretKeyRef.key });
    else settings.set(name, valueFrom ? { by, kind: 'elsewhere', where } : { by, ...resolved(value ?? '', settings) });
  }
  return settings;
}

/** A value with the variables above it in place of their $(NAME): the kubelet leaves all others as they are. */
function resolved(value: string, above: ReadonlyMap<string, Setting>) {
  const isHidden = ([, name = '']: RegExpExecArray) => above.has(name) && above.get(name)?.kind !== 'value';
  const hidden = [...value.matchAll(REFERENCE)].find(isHidden);
  if (hidden) return { kind: 'elsewhere' as const, where: `the variable ${hidden[1]}` };
  return { kind: 'value' as const, value: expandAll(value, above) };
}

/** What the kubelet replaces: two dollars, or $(NAME). */
const REFERENCE = /\$\$|\$\(([^)]+)\)/g;

/** A text with variables in place of their $(NAME), and a dollar in place of two. */
export const expandAll = (text: string, environment: ReadonlyMap<string, Setting>): string =>
  text.replace(REFERENCE, (found, name?: string) => expand(found, name, environment));

function expand(found: string, name: string | undefined, environment: ReadonlyMap<string, Setting>): string {
  if (name === undefined) return '$';
  const setting = environment.get(name);
  return setting?.kind === 'value' ? setting.value : found;
}
