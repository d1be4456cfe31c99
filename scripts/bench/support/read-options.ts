import { parseArgs } from 'node:util';

type Options<T> = { [Name in keyof T]: T[Name] extends number ? number : string };

/** Reads options such as `--changes 20`; those with a number as default are numbers. Throws for unknown names. */
export function readOptions<const T extends Record<string, number | string>>(args: string[], defaults: T): Options<T> {
  const names = Object.keys(defaults);
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args, options });
  const given = Object.entries(values).map(([name, text]) => [
    name,
    typeof defaults[name] === 'number' ? Number(text) : text,
  ]);
  return { ...defaults, ...Object.fromEntries(given) };
}
