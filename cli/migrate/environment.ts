import type { Container } from './manifest.ts';

/** Value of an option of git-sync, or of a variable. */
export type Setting = { by: string } & (
  | { kind: 'value'; value: string }
  /** The value is in a Secret. */
  | { kind: 'secret'; name: string; key: string }
  /** The value isn't in the manifest. */
  | { kind: 'elsewhere'; where: string }
);

/** Returns the variables of a container by name. */
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

/** Expands $(NAME) of variables defined earlier, as the kubelet does. */
function resolved(value: string, above: ReadonlyMap<string, Setting>) {
  const isHidden = ([, name = '']: RegExpExecArray) => above.has(name) && above.get(name)?.kind !== 'value';
  const hidden = [...value.matchAll(REFERENCE)].find(isHidden);
  if (hidden) return { kind: 'elsewhere' as const, where: `the variable ${hidden[1]}` };
  return { kind: 'value' as const, value: expandAll(value, above) };
}

/** References that the kubelet expands: $$ or $(NAME). */
const REFERENCE = /\$\$|\$\(([^)]+)\)/g;

/** Expands $(NAME), and replaces $$ with $. */
export const expandAll = (text: string, environment: ReadonlyMap<string, Setting>): string =>
  text.replace(REFERENCE, (found, name?: string) => expand(found, name, environment));

function expand(found: string, name: string | undefined, environment: ReadonlyMap<string, Setting>): string {
  if (name === undefined) return '$';
  const setting = environment.get(name);
  return setting?.kind === 'value' ? setting.value : found;
}
